import { type BlobRef, type BlockOrigin, type Draft, type Meta, type Notice, toolResultBlock } from '../../core/block/index.ts'
import { isObject, type Json, parseJson } from '../../core/json.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { caps } from '../../core/render/caps.ts'
import type { Call } from '../tool.ts'
import type { MissingStatus, PathContent, PresentContent } from './find.ts'
import type { ReadRequest } from './request.ts'
import { type ReadLimits, showText } from './window.ts'

/** The blocks that show the content of one path, and the row of this path in the result. */
export interface ReadResult {
  readonly row: StatusRow
  /** The digest of an artifact. The prompt does not show it. */
  readonly digest?: Draft
  readonly content: Draft
}

/** Makes blocks that show content to the model, as much as the limits allow. */
export function revealContent(
  content: PresentContent,
  request: ReadRequest,
  limits: ReadLimits,
  { origin, visiblePrompt }: Call,
): ReadResult {
  if (content.kind === 'text') return revealText(content, request, limits, origin, visiblePrompt.tokens)
  const digest = digestDraft(content, origin)
  if (content.kind === 'opaque') return { ...digest, ...describeOpaque(content, origin) }
  const row = { path: content.path, mime: content.mime, bytes: content.blob.size }
  if (content.blob.size <= maxShownBytes(content.mime, limits))
    return { ...digest, row, content: contentDraft(content, origin, { blob: content.blob }) }
  const text = `[TOO LARGE TO SHOW] ${content.mime}, ${content.blob.size} bytes\npath: ${content.path}\nWork on it in code, by its physical path.`
  const marker = contentDraft({ ...content, mime: 'text/plain' }, origin, { text }, { partial: true, keeps: [content.blob] })
  return { ...digest, row: { ...row, status: 'too_large_for_visible_context_bytes' }, content: marker }
}

/** The number of bytes up to which a file is shown to the model. A larger file would be left out when the prompt is rendered. */
const maxShownBytes = (mime: string, { bytes }: ReadLimits) =>
  Math.min(bytes, mime.startsWith('image/') ? caps.imageBytes : caps.documentBytes)

function revealText(
  content: Extract<PathContent, { kind: 'text' }>,
  request: ReadRequest,
  limits: ReadLimits,
  origin: BlockOrigin,
  tokens: (text: string) => number,
): ReadResult {
  const shown = showText(content.text, { ...request, path: content.path }, limits, tokens)
  const partial = shown.partial || content.from !== undefined // extracted text is only a part of its file
  const meta: Meta = {
    ...(partial && { partial: true }),
    ...(request.range && shown.range && { read_range: shown.range }),
    ...(content.from && { keeps: [content.from] }),
  }
  const mime = partial ? 'text/plain' : content.mime
  return {
    row: {
      path: content.path,
      tokens: tokens(shown.text),
      mime: content.mime,
      ...(shown.truncated && { status: 'truncated_for_visible_context' as const }),
      ...(shown.partial && shown.range && { read_range: shown.range }),
      ...(content.label !== undefined && { kind: content.label }),
    },
    ...digestDraft(content, origin),
    content: contentDraft({ ...content, mime }, origin, { text: shown.text }, meta),
  }
}

/**
 * Describes a file that no model can read by its type and size. The paths are not part of the text, because the heading of the block shows
 * them. If the bytes are no longer stored, the size is read from the digest.
 */
function describeOpaque(content: Extract<PathContent, { kind: 'opaque' }>, origin: BlockOrigin): Pick<ReadResult, 'row' | 'content'> {
  const { path, mime, blob, digest } = content
  const bytes = blob ? content.size : digestSize(digest)
  const facts = bytes === undefined ? mime : `${mime}, ${bytes} bytes`
  const text = blob
    ? `[BINARY FILE] ${facts}\nModels are not shown this type. Work on it in code, by its physical path.`
    : `[CONTENT NOT AVAILABLE] ${facts}\nOnly this record of the file is left.`
  const meta: Meta = { partial: true, ...(blob && { keeps: [blob] }) }
  return {
    row: { path, mime, ...(bytes !== undefined && { bytes }) },
    content: contentDraft({ ...content, mime: 'text/plain' }, origin, { text }, meta),
  }
}

function digestSize(digest: string | undefined): number | undefined {
  const parsed = parseJson(digest)
  return isObject(parsed) && typeof parsed.size_bytes === 'number' ? parsed.size_bytes : undefined
}

const digestDraft = ({ digest }: PresentContent, origin: BlockOrigin): Pick<ReadResult, 'digest'> =>
  digest === undefined ? {} : { digest: toolResultBlock(origin, { mime: 'application/json', text: digest }) }

function contentDraft(
  { path, mime, digest, hosting }: Pick<PresentContent, 'path' | 'mime' | 'digest' | 'hosting'>,
  origin: BlockOrigin,
  content: { text?: string; blob?: BlobRef },
  meta: Meta = {},
): Draft {
  const { text: _result, ...result } = toolResultBlock(origin, {
    mime,
    text: '',
    meta: { ...physicalPathMeta(path), ...hosting, ...meta, ...(digest !== undefined && { digest }) },
  })
  return { ...result, path, ...content }
}

function physicalPathMeta(path: string): Meta {
  const physical = toPhysical(path)
  return physical === undefined ? {} : { physical_path: physical }
}

/**
 * The row of one path in the result of `react.read`. If `status` is undefined, a block with the complete content follows after the result.
 */
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
  /** The path of the block that already shows the content. It is left out of the row and listed in `visible_context_refs` of the result. */
  readonly visibleAt?: string
}

/** The output of `react.read`. The blocks with the content come after it. */
export function readStatus(rows: readonly StatusRow[], limits: ReadLimits, statsOnly: boolean): Json {
  const paths = (status: StatusRow['status']) => rows.filter((row) => row.status === status).map(({ path }) => path)
  const { files, skills } = missingPaths(rows)
  const visible = rows.filter(({ status }) => status === 'exists_in_visible_context')
  const large = paths('too_large_for_visible_context_bytes')
  const truncated = paths('truncated_for_visible_context')
  return {
    paths: rows.map(({ visibleAt: _, ...row }) => row as unknown as Json), // all fields are plain JSON
    total_tokens: rows.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
    ...(files.length > 0 && { missing: files }),
    ...(skills.length > 0 && { missing_skills: skills }),
    ...(visible.length > 0 && { exists_in_visible_context: visible.map(({ path }) => path) }),
    ...(visible.length > 0 && {
      visible_context_refs: Object.fromEntries(visible.map(({ path, visibleAt }) => [path, visibleAt ?? path])),
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
  const missing = rows.filter((row) => row.missing)
  const paths = (isSkill: boolean) => missing.filter(({ status }) => (status === 'skill_missing') === isSkill).map(({ path }) => path)
  return { files: paths(false), skills: paths(true) }
}

/** A notice about the paths that were not found. Empty when all were found. */
export function missingNotice(rows: readonly StatusRow[]): readonly Notice[] {
  const { files, skills } = missingPaths(rows)
  const all = [...files, ...skills]
  if (all.length === 0) return []
  const folder = rows.some(({ status }) => status === 'folder')
    ? ' A folder is not read: list it with react.search_files or bring it here with react.pull.'
    : ''
  const elsewhere = rows.some(({ status }) => status === 'in_another_conversation') ? ' Files of another conversation can not be read.' : ''
  const message = `Not found: ${all.join(', ')}. Give logical paths exactly as they are shown.${folder}${elsewhere}`
  return [{ code: 'read_paths_missing', message, missing: files, ...(skills.length > 0 && { missing_skills: skills }) }]
}
