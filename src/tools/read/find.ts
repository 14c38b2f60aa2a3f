import { type BlobRef, type Block, type Meta, readDigest, readToolCall } from '../../core/block/index.ts'
import { cutAt } from '../../core/cut.ts'
import { sourcesPath, toolPath } from '../../core/path/build.ts'
import { type FilePath, formatPath, type LogicalPath, parsePath } from '../../core/path/logical.ts'
import { toLogical } from '../../core/path/physical.ts'
import { selectSources } from '../../core/sources/pool.ts'
import type { IncomingSource, SourceRow } from '../../core/sources/source.ts'
import { hasWholeContent } from '../../core/timeline/artifacts.ts'
import { type Resolution, resolvePath } from '../../core/timeline/resolve.ts'
import { completeParams } from '../call-id.ts'
import type { Call } from '../tool.ts'

/** The content at a logical path. `window.ts` and `reveal.ts` decide how much of it the model sees. */
export type PathContent =
  | (ContentInfo & {
      readonly kind: 'text'
      readonly text: string
      /** Sources that the text cites. They are added to the pool. */
      readonly sources?: readonly IncomingSource[]
      /** The file from which the text was extracted. */
      readonly from?: BlobRef
    })
  | (ContentInfo & { readonly kind: 'binary'; readonly blob: BlobRef })
  /** Bytes in a format that is not sent to models, such as a ZIP archive. */
  | (ContentInfo & { readonly kind: 'opaque'; readonly size: number; readonly blob?: BlobRef })
  | { readonly kind: 'missing'; readonly path: string; readonly status: MissingStatus }

/** The content at a path that exists. */
export type PresentContent = Exclude<PathContent, { kind: 'missing' }>

interface ContentInfo {
  readonly path: string
  readonly mime: string
  /** The digest of an artifact, exactly as it was stored. */
  readonly digest?: string
  /** Where the file is hosted, and the blob that was hosted. These fields are stored in `meta` and are not shown to the model. */
  readonly hosting?: Meta
  /** The `kind` that the result of the read shows for this path. */
  readonly label?: string
}

/** Why there is no content. The model reads these codes. */
export type MissingStatus =
  | 'missing'
  | 'not_a_logical_path'
  | 'turn_log_missing'
  | 'workspace_version_unavailable'
  | 'in_another_conversation'
  | 'folder'
  | 'knowledge_storage_missing'
  | 'knowledge_resolver_missing'
  | 'knowledge_path_missing'
  | 'knowledge_resolver_error'
  | 'knowledge_unreadable'
  | 'skill_missing'
  | 'sources_pool_rows_missing'

/** The result for a path without content. */
export const missingContent = (path: string, status: MissingStatus = 'missing'): PathContent => ({ kind: 'missing', path, status })

/** Finds messages, tool calls, results and summaries (`ar:`, `tc:`, `su:`) in the timeline or in the journal. */
export async function findRecord(path: string, turn: string | undefined, call: Call): Promise<PathContent> {
  const resolution = await resolveInHistory(path, call)
  if (resolution.status === 'view') return { kind: 'text', path, mime: 'text/markdown', text: resolution.text }
  if (resolution.status === 'blocks') return recordContent(path, resolution, call)
  if (turn === undefined || (await call.records.byTurn(turn)).length > 0) return missingContent(path)
  return missingContent(path, 'turn_log_missing')
}

/** The newest complete content at a path. Digests are skipped. If the path has several notices, their texts are joined. */
async function recordContent(path: string, { blocks }: Extract<Resolution, { status: 'blocks' }>, call: Call): Promise<PathContent> {
  const notices = blocks.filter(({ type }) => type === 'react.notice')
  if (notices.length > 1) return textContent(path, notices.at(-1), notices.map(({ text = '' }) => text).join('\n\n'))
  const newest = blocks.findLast((block) => block.text !== undefined && hasWholeContent(block) && !readDigest(block))
  const binary = newest ? undefined : blocks.findLast(({ blob }) => blob !== undefined)
  if (binary?.blob) return { kind: 'binary', path, mime: binary.mime ?? 'application/octet-stream', blob: binary.blob }
  const block = newest ?? blocks.findLast(({ text }) => text !== undefined)
  if (block?.text === undefined) return missingContent(path)
  return textContent(path, block, block.type === 'react.tool.call' ? await fullCallText(block, call) : block.text)
}

/** The blocks with the path of a file that can be read from another conversation: the description of an attached file, and a note. */
const typesReadElsewhere: ReadonlySet<string> = new Set<Block['type']>(['user.attachment.meta', 'react.note'])

/**
 * Finds messages, answers, notes and summaries in another conversation of the same user, by the paths that a memory search returns. For an
 * attached file, it finds only the description. Other content of another conversation can not be read.
 */
export async function findElsewhere(parsed: LogicalPath, path: string, { records }: Pick<Call, 'records'>): Promise<PathContent> {
  const isRecord = 'kind' in parsed && (parsed.kind === 'record' || parsed.kind === 'file')
  if (!isRecord || parsed.conversationId === undefined || !records.inConversation) return missingContent(path, 'in_another_conversation')
  const { conversationId: name, ...own } = parsed
  const blocks = await records.inConversation(name).byPath(formatPath(own))
  const isShown = ({ type, text }: Block) => text !== undefined && (parsed.kind === 'record' || typesReadElsewhere.has(type))
  const texts = blocks.filter((block) => isShown(block) && block.meta?.is_patch !== true)
  const block = texts.findLast((each) => !readDigest(each)) ?? texts.at(-1)
  if (block?.text !== undefined) return textContent(path, block, block.text)
  return missingContent(path, own.space === 'fi' ? 'in_another_conversation' : 'missing')
}

const textContent = (path: string, block: Block | undefined, text: string): PathContent => ({
  kind: 'text',
  path,
  mime: block?.mime ?? 'text/markdown',
  text,
})

/** The text of a tool call with complete parameters. */
async function fullCallText(block: Block, { records }: Call): Promise<string> {
  const shown = readToolCall(block)
  const params = shown && (await completeParams(block, async (callId) => records.response?.(callId)))
  if (!shown || params === undefined) return block.text ?? ''
  return JSON.stringify({ tool_id: shown.tool_id, tool_call_id: shown.tool_call_id, params, ts: shown.ts })
}

/** The path that tells the model where it already sees the content of a block. For a block of a tool call, it is the path of the call. */
export const visiblePathOf = (block: Block): string =>
  block.call_id === undefined ? (block.path ?? block.turn_id) : toolPath(block.turn_id, block.call_id, 'call')

/** Resolves a path. Blocks that are no longer in the timeline are read from the journal. */
export async function resolveInHistory(
  path: string,
  call: Pick<Call, 'timeline' | 'records'>,
): Promise<Exclude<Resolution, { status: 'lookup_needed' }>> {
  const paths = new Map<string, readonly Block[]>()
  const turns = new Map<string, readonly Block[]>()
  const history = { atPath: (at: string) => paths.get(at), ofTurn: (turnId: string) => turns.get(turnId) }
  for (;;) {
    const resolution = resolvePath(call.timeline, path, history)
    if (resolution.status !== 'lookup_needed') return resolution
    if ('path' in resolution.at) paths.set(resolution.at.path, await call.records.byPath(resolution.at.path))
    else turns.set(resolution.at.turn, await blocksOfTurn(resolution.at.turn, call))
  }
}

async function blocksOfTurn(turnId: string, { records }: Pick<Call, 'records'>): Promise<readonly Block[]> {
  return (await records.turnLog(turnId))?.blocks ?? (await records.byTurn(turnId))
}

interface SourceContents {
  /** Files that are sources. They are read as files. */
  readonly files: readonly FilePath[]
  readonly contents: readonly PathContent[]
}

/**
 * The content of the sources with these SIDs. Sources that are files are returned in `files`. All other sources become one text. With
 * `maxSymbols`, the text of each source is cut to an equal share, but no source is left out.
 */
export function findSources(path: string, sids: readonly number[], { timeline }: Call, maxSymbols?: number): SourceContents {
  const { rows, missing: unknown } = selectSources(timeline.sources, sids)
  const files = rows.flatMap((row) => sourceFile(row) ?? [])
  const pages = rows.filter((row) => sourceFile(row) === undefined)
  const maxRowSymbols = maxSymbols === undefined || pages.length === 0 ? undefined : Math.max(1, Math.floor(maxSymbols / pages.length))
  return {
    files,
    contents: [
      ...(pages.length === 0 ? [] : [sourcesText(path, pages, maxRowSymbols)]),
      ...(unknown.length === 0 ? [] : [missingContent(rows.length === 0 ? path : sourcesPath(unknown), 'sources_pool_rows_missing')]),
    ],
  }
}

function sourceFile({ artifact_path, physical_path, turn_id }: SourceRow): FilePath | undefined {
  const logical =
    artifact_path ?? (physical_path === undefined ? undefined : toLogical(physical_path, new Set(turn_id === undefined ? [] : [turn_id])))
  const parsed = logical === undefined ? undefined : parsePath(logical)
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.conversationId === undefined ? parsed : undefined
}

const sourcesText = (path: string, rows: readonly SourceRow[], maxRowSymbols: number | undefined): PathContent => ({
  kind: 'text',
  path,
  mime: 'text/markdown',
  text: rows.map((row) => sourceRowText(row, maxRowSymbols)).join('\n\n'),
})

function sourceRowText({ sid, title = '', mime, url, domain, content, text }: SourceRow, maxSymbols: number | undefined): string {
  const body = content ?? text ?? ''
  const location = [url, domain].filter((part) => part !== undefined && part !== '').join(' | ')
  return [
    `[S:${sid}] ${title}`,
    ...(mime ? [`mime: ${mime}`] : []),
    ...(location ? [location] : []),
    ...(body ? [maxSymbols === undefined ? body : cutAt(body, maxSymbols)] : []),
  ].join('\n')
}
