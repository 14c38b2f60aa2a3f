import { type BlobRef, type Draft, type Meta, type Place, toolResult } from '../../core/block/index.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { caps } from '../../core/render/caps.ts'
import type { Call } from '../tool.ts'
import type { PathContent } from './find.ts'
import type { ReadRequest } from './request.ts'
import type { StatusRow } from './status.ts'
import { type ReadLimits, showText } from './window.ts'

/** What comes into view of one path, and what the status says of it. */
export interface ReadResult {
  readonly row: StatusRow
  readonly drafts: readonly Draft[]
}

type PresentContent = Exclude<PathContent, { kind: 'missing' }>

export function revealContent(
  found: PresentContent,
  request: ReadRequest,
  limits: ReadLimits,
  { origin: place, visiblePrompt: sight }: Call,
): ReadResult {
  if (found.kind === 'text') return revealText(found, request, limits, place, sight.tokens)
  const about = digestDraft(found, place)
  if (found.kind === 'anchor') {
    const kept: Meta = found.blob ? { keeps: [found.blob] } : {}
    return { row: { path: found.path, mime: found.mime, bytes: found.size }, drafts: [...about, contentDraft(found, place, {}, kept)] }
  }
  const row = { path: found.path, mime: found.mime, bytes: found.blob.size }
  if (found.blob.size <= maxShownBytes(found.mime, limits))
    return { row, drafts: [...about, contentDraft(found, place, { blob: found.blob })] }
  const text = `[TOO LARGE TO SHOW] ${found.mime}, ${found.blob.size} bytes\npath: ${found.path}\nWork on it in code, by its physical path.`
  const marker = contentDraft({ ...found, mime: 'text/plain' }, place, { text }, { partial: true, keeps: [found.blob] })
  return { row: { ...row, status: 'too_large_for_visible_context_bytes' }, drafts: [...about, marker] }
}

/** An image beyond this would not be sent to a model, whoever read it. */
const maxShownBytes = (mime: string, { bytes }: ReadLimits) =>
  Math.min(bytes, mime.startsWith('image/') ? caps.imageBytes : caps.documentBytes)

function revealText(
  found: Extract<PathContent, { kind: 'text' }>,
  request: ReadRequest,
  limits: ReadLimits,
  place: Place,
  tokens: (text: string) => number,
): ReadResult {
  const own = found.capped ? limits : { ...limits, symbols: Number.MAX_SAFE_INTEGER, tokens: Number.MAX_SAFE_INTEGER }
  const shown = showText(found.text, { ...request, path: found.path }, own, tokens)
  const partial = shown.partial || found.from !== undefined // of a file, its text is a part
  const meta: Meta = {
    ...(partial && { partial: true }),
    ...(request.range && shown.range && { read_range: shown.range }),
    ...(found.from && { keeps: [found.from] }),
  }
  const mime = partial ? 'text/plain' : found.mime
  return {
    row: {
      path: found.path,
      tokens: tokens(shown.text),
      mime: found.mime,
      ...(shown.truncated && { status: 'truncated_for_visible_context' as const }),
      ...(shown.partial && shown.range && { read_range: shown.range }),
      ...(found.label !== undefined && { kind: found.label }),
    },
    drafts: [...digestDraft(found, place), contentDraft({ ...found, mime }, place, { text: shown.text }, meta)],
  }
}

/** Word for word as it was entered. */
const digestDraft = ({ digest }: PresentContent, place: Place): readonly Draft[] =>
  digest === undefined ? [] : [toolResult(place, { mime: 'application/json', text: digest })]

function contentDraft(
  { path, mime, digest }: Pick<PresentContent, 'path' | 'mime' | 'digest'>,
  place: Place,
  content: { text?: string; blob?: BlobRef },
  meta: Meta = {},
): Draft {
  const { text: _result, ...result } = toolResult(place, {
    mime,
    text: '',
    meta: { ...physicalPathMeta(path), ...meta, ...(digest !== undefined && { digest }) },
  })
  return { ...result, path, ...content }
}

function physicalPathMeta(path: string): Meta {
  const physical = toPhysical(path)
  return physical === undefined ? {} : { physical_path: physical }
}
