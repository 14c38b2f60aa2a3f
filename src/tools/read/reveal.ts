import {
  type BlobRef,
  type Block,
  type BlockOrigin,
  callIdOf,
  type Draft,
  isHidden,
  type Meta,
  type Notice,
  readToolCall,
  toolResultBlock,
} from '../../core/block/index.ts'
import type { Json } from '../../core/json.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { caps } from '../../core/render/caps.ts'
import { blocksAtPath, blocksOfCall, type Timeline } from '../../core/timeline/timeline.ts'
import type { Call } from '../tool.ts'
import type { MissingStatus, PathContent } from './find.ts'
import type { ReadRequest } from './request.ts'
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
  place: BlockOrigin,
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
const digestDraft = ({ digest }: PresentContent, place: BlockOrigin): readonly Draft[] =>
  digest === undefined ? [] : [toolResultBlock(place, { mime: 'application/json', text: digest })]

function contentDraft(
  { path, mime, digest }: Pick<PresentContent, 'path' | 'mime' | 'digest'>,
  place: BlockOrigin,
  content: { text?: string; blob?: BlobRef },
  meta: Meta = {},
): Draft {
  const { text: _result, ...result } = toolResultBlock(place, {
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

/** The block that already shows all of this to the model, if one does. Skills are known by their path alone. */
export function findVisibleCopy(timeline: Timeline, found: PathContent): Block | undefined {
  if (found.kind === 'missing') return undefined
  return blocksAtPath(timeline, found.path).findLast(
    (block) => !isHidden(block) && (found.kind === 'text' && found.label === 'skill' ? true : isSameContent(block, found, timeline)),
  )
}

function isSameContent(block: Block, found: Exclude<PathContent, { kind: 'missing' }>, timeline: Timeline): boolean {
  if (found.kind === 'text' && found.from)
    return block.text === found.text && block.meta?.keeps?.[0]?.sha256 === found.from.sha256 && isFromRead(block, timeline)
  if (found.kind === 'text') return block.text === found.text && block.meta?.partial !== true && isShownWhole(block, timeline)
  if (found.kind === 'binary') return block.blob?.sha256 === found.blob.sha256 && isAttached(block, timeline)
  return block.text === undefined && isFromRead(block, timeline)
}

/** Longer results are shown by their beginning, unless somebody asked to read them. */
const isShownWhole = (block: Block, timeline: Timeline) =>
  block.type !== 'react.tool.result' || (block.text?.length ?? 0) <= caps.toolResult || isFromRead(block, timeline)

/** A PDF that a tool made is shown only when it is read. */
const isAttached = (block: Block, timeline: Timeline) =>
  block.type !== 'react.tool.result' || block.mime?.startsWith('image/') === true || isFromRead(block, timeline)

function isFromRead(block: Block, timeline: Timeline): boolean {
  const callId = callIdOf(block)
  const call = callId === undefined ? undefined : blocksOfCall(timeline, callId).find(readToolCall)
  return call !== undefined && readToolCall(call)?.tool_id === 'react.read'
}

/** What the status says of one path. No status: it follows, whole. */
export interface StatusRow {
  readonly path: string
  readonly status?:
    | Exclude<MissingStatus, 'missing'>
    | 'exists_in_visible_context'
    | 'revealed'
    | 'truncated_for_visible_context'
    | 'too_large_for_visible_context_bytes'
    | 'stats_only'
    | 'missing'
  readonly missing?: true
  readonly tokens?: number
  readonly bytes?: number
  readonly mime?: string
  readonly kind?: string
  readonly line_count?: number
  readonly text_symbols?: number
  readonly read_range?: { readonly [key: string]: number }
  /** Where it can be seen already. */
  readonly visibleAt?: string
}

/** The first block of every read. */
export function readStatus(rows: readonly StatusRow[], limits: ReadLimits, statsOnly: boolean): Json {
  const paths = (status: StatusRow['status']) => rows.filter((row) => row.status === status).map(({ path }) => path)
  const { files, skills } = missingPaths(rows)
  const visible = rows.filter(({ status }) => status === 'exists_in_visible_context')
  const large = paths('too_large_for_visible_context_bytes')
  const truncated = paths('truncated_for_visible_context')
  return {
    paths: rows.map(({ visibleAt: _elsewhere, ...row }) => row as unknown as Json), // plain fields
    total_tokens: rows.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
    ...(files.length > 0 && { missing: files }),
    ...(skills.length > 0 && { missing_skills: skills }),
    ...(visible.length > 0 && { exists_in_visible_context: visible.map(({ path }) => path) }),
    ...(visible.length > 0 && {
      visible_context_refs: Object.fromEntries(visible.map(({ path, visibleAt: seenAt }) => [path, seenAt ?? path])),
    }),
    ...(large.length > 0 && { large_paths: large }),
    ...(truncated.length > 0 && { truncated_paths: truncated }),
    stats_only: statsOnly,
    visible_read_limit_tokens: limits.tokens,
    visible_read_limit_text_symbols: limits.symbols,
    visible_read_limit_bytes: limits.bytes,
  }
}

function missingPaths(rows: readonly StatusRow[]): { readonly files: readonly string[]; readonly skills: readonly string[] } {
  const gone = rows.filter((row) => row.missing)
  const [skills, files] = [gone.filter(({ status }) => status === 'skill_missing'), gone.filter(({ status }) => status !== 'skill_missing')]
  return { files: files.map(({ path }) => path), skills: skills.map(({ path }) => path) }
}

export function missingNotice(rows: readonly StatusRow[]): readonly Notice[] {
  const { files, skills } = missingPaths(rows)
  const all = [...files, ...skills]
  if (all.length === 0) return []
  const folder = rows.some(({ status }) => status === 'folder')
    ? ' A folder is not read: list it with react.search_files or bring it here with react.pull.'
    : ''
  const message = `Not found: ${all.join(', ')}. Give logical paths exactly as they are shown.${folder}`
  return [{ code: 'read_paths_missing', message, missing: files, ...(skills.length > 0 && { missing_skills: skills }) }]
}
