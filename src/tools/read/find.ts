import { type BlobRef, type Block, readDigest, readToolCall } from '../../core/block/index.ts'
import { readDecision } from '../../core/decision/read.ts'
import { parseResponse } from '../../core/decision/response.ts'
import { sourcesPath, toolPath } from '../../core/path/build.ts'
import { type FilePath, parsePath } from '../../core/path/logical.ts'
import { toLogical } from '../../core/path/physical.ts'
import { selectSources } from '../../core/sources/pool.ts'
import type { IncomingSource, SourceRow } from '../../core/sources/source.ts'
import { hasWholeContent } from '../../core/timeline/artifacts.ts'
import { type Resolution, resolvePath } from '../../core/timeline/resolve.ts'
import type { Call } from '../tool.ts'

/** What a path holds, before anything is decided about how much of it is shown. */
export type PathContent =
  | (ContentInfo & {
      readonly kind: 'text'
      readonly text: string
      readonly capped: boolean
      readonly sources?: readonly IncomingSource[]
      /** What the path holds: the text was taken out of it. */
      readonly from?: BlobRef
    })
  | (ContentInfo & { readonly kind: 'binary'; readonly blob: BlobRef })
  /** Bytes that no model can be shown. */
  | (ContentInfo & { readonly kind: 'anchor'; readonly size: number; readonly blob?: BlobRef })
  | { readonly kind: 'missing'; readonly path: string; readonly status: MissingStatus }

interface ContentInfo {
  readonly path: string
  readonly mime: string
  /** The digest of an artifact, word for word as it was entered. */
  readonly digest?: string
  /** Of rows in the status. */
  readonly label?: string
}

export type MissingStatus =
  | 'missing'
  | 'not_a_logical_path'
  | 'turn_log_missing'
  | 'folder'
  | 'knowledge_storage_missing'
  | 'knowledge_resolver_missing'
  | 'knowledge_path_missing'
  | 'knowledge_resolver_error'
  | 'knowledge_unreadable'
  | 'skill_missing'
  | 'sources_pool_rows_missing'

export const missingContent = (path: string, status: MissingStatus = 'missing'): PathContent => ({ kind: 'missing', path, status })

/** What was said and done: `ar:`, `tc:`, `su:`, in the timeline or in the log of its turn. */
export async function findRecord(path: string, turn: string | undefined, call: Call): Promise<PathContent> {
  const resolved = await resolveInHistory(path, call)
  if (resolved.status === 'view') return { kind: 'text', path, mime: 'text/markdown', text: resolved.text, capped: true }
  if (resolved.status === 'blocks') return recordContent(path, resolved, call)
  if (turn === undefined || (await call.records.byTurn(turn)).length > 0) return missingContent(path)
  return missingContent(path, 'turn_log_missing')
}

/** The real payload, not what is told about it; several notices of one call are read together. */
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

const textContent = (path: string, block: Block | undefined, text: string): PathContent => ({
  kind: 'text',
  path,
  mime: block?.mime ?? 'text/markdown',
  text,
  capped: true,
})

const shortenedParams = /"full_value_ref":|\.\.\. \[see |"\.\.\.":"\d+ more keys"|"\.\.\. \(\d+ more\)"/

/** The block shows large parameters by their beginnings; the model's own words are in its response. */
async function fullCallText(block: Block, call: Call): Promise<string> {
  const shown = readToolCall(block)
  if (!shown || !shortenedParams.test(block.text ?? '')) return block.text ?? ''
  const response = await call.records.response?.(shown.tool_call_id)
  if (!response) return block.text ?? ''
  const finishReason = response.finish_reason === 'length' ? 'length' : 'stop'
  const reading = readDecision(parseResponse(response.raw, { finishReason, maxTokens: 0 }), {})
  if (!reading.ok || reading.decision.action !== 'call_tool') return block.text ?? ''
  return JSON.stringify({ tool_id: shown.tool_id, tool_call_id: shown.tool_call_id, params: reading.decision.params, ts: shown.ts })
}

/** Where a block can be seen, for whoever is told that it is visible already. */
export const visiblePathOf = (block: Block): string =>
  block.call_id === undefined ? (block.path ?? block.turn_id) : toolPath(block.turn_id, block.call_id, 'call')

/** What an address leads to, in the timeline or in all history; the journal is asked only for what the timeline does not hold. */
export async function resolveInHistory(
  path: string,
  call: Pick<Call, 'timeline' | 'records'>,
): Promise<Exclude<Resolution, { status: 'look' }>> {
  const paths = new Map<string, readonly Block[]>()
  const turns = new Map<string, readonly Block[]>()
  const history = { atPath: (at: string) => paths.get(at), ofTurn: (turnId: string) => turns.get(turnId) }
  for (;;) {
    const resolved = resolvePath(call.timeline, path, history)
    if (resolved.status !== 'look') return resolved
    if ('path' in resolved.at) paths.set(resolved.at.path, await call.records.byPath(resolved.at.path))
    else turns.set(resolved.at.turn, await blocksOfTurn(resolved.at.turn, call))
  }
}

async function blocksOfTurn(turnId: string, { records }: Pick<Call, 'records'>): Promise<readonly Block[]> {
  return (await records.turnLog(turnId))?.blocks ?? (await records.byTurn(turnId))
}

export interface SourceContents {
  /** Rows that are files: they are read as such. */
  readonly files: readonly FilePath[]
  readonly found: readonly PathContent[]
}

/** Rows that name a file are that file; the rest is one text. No row is ever dropped: only what it says may be cut. */
export function findSources(path: string, sids: readonly number[], { timeline }: Call, maxSymbols?: number): SourceContents {
  const { rows, missing: unknown } = selectSources(timeline.sources, sids)
  const files = rows.flatMap((row) => sourceFile(row) ?? [])
  const pages = rows.filter((row) => sourceFile(row) === undefined)
  const each = maxSymbols === undefined || pages.length === 0 ? undefined : Math.max(1, Math.floor(maxSymbols / pages.length))
  return {
    files,
    found: [
      ...(pages.length === 0 ? [] : [sourcesText(path, pages, each)]),
      ...(unknown.length === 0 ? [] : [missingContent(rows.length === 0 ? path : sourcesPath(unknown), 'sources_pool_rows_missing')]),
    ],
  }
}

function sourceFile({ artifact_path, physical_path, turn_id }: SourceRow): FilePath | undefined {
  const logical =
    artifact_path ?? (physical_path === undefined ? undefined : toLogical(physical_path, new Set(turn_id === undefined ? [] : [turn_id])))
  const parsed = logical === undefined ? undefined : parsePath(logical)
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.conversation === undefined ? parsed : undefined
}

const sourcesText = (path: string, rows: readonly SourceRow[], each: number | undefined): PathContent => ({
  kind: 'text',
  path,
  mime: 'text/markdown',
  text: rows.map((row) => sourceRowText(row, each)).join('\n\n'),
  capped: true,
})

function sourceRowText({ sid, title = '', mime, url, domain, content, text }: SourceRow, each: number | undefined): string {
  const body = content ?? text ?? ''
  const place = [url, domain].filter((part) => part !== undefined && part !== '').join(' | ')
  return [
    `[S:${sid}] ${title}`,
    ...(mime ? [`mime: ${mime}`] : []),
    ...(place ? [place] : []),
    ...(body ? [each === undefined ? body : body.slice(0, each)] : []),
  ].join('\n')
}
