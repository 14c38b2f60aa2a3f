import { type Block, callIdOf, isHidden } from '../block/block.ts'
import { oncePerBlock } from '../block/reader.ts'
import { readToolCall } from '../block/tool.ts'
import { partTokens } from '../estimate/estimate.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import { isObject, parseJson } from '../json.ts'
import { sourcesPath } from '../path/build.ts'
import { canonicalPath } from '../path/logical.ts'
import { rowSids } from '../render/blocks/payloads.ts'
import { type CachePoints, frozenUntil } from '../render/cache-points.ts'
import type { Part, ShownBlock, Slice } from '../render/types.ts'
import type { BlocksHidden } from '../timeline/change.ts'
import { blockAt, blocksOfTurn, type Timeline } from '../timeline/timeline.ts'

/**
 * Folding a path into one line, where that costs no more than the end of the prompt:
 *
 *   frozen: cached, never edited │ too many tokens to the end │ editable tail │ sources, announce
 *                                ▲ pre-tail or previous turn  ▲ tail limit
 *
 * The newest block of the path must lie in the editable tail; older ones of its group are hidden with it only if they do, too.
 */
export interface HideRequest {
  readonly path: string
  readonly replacement_text: string
}

/** What the agent is told, as the result of its call. */
export interface HideReport {
  readonly path: string
  readonly status: 'ok' | 'not_found' | 'too_old'
  readonly before_cache?: true
  readonly blocks_hidden: number
  readonly tokens_hidden: number
  /** From the newest block of the path to the end; not counted for what is not there or frozen. */
  readonly tail_tokens?: number
  readonly tail_limit: number
}

export type HidePlan =
  | { readonly ok: true; readonly change: BlocksHidden; readonly report: HideReport }
  | {
      readonly ok: false
      readonly status: 'not_found' | 'too_old'
      readonly notice?: 'hide_before_cache' | 'hide_too_old'
      readonly report: HideReport
    }

export interface HideLimits {
  readonly tokens: TokenCounter
  /** How far from the end of the prompt an edit may reach. */
  readonly tailTokens: number
}

export const defaultTailTokens = 2_000
export const maxReplacementChars = 400
const defaultReplacement = 'content removed'

export function planHide(slice: Slice, points: CachePoints, request: HideRequest, { tokens, tailTokens }: HideLimits): HidePlan {
  const path = canonicalAddress(request.path)
  const nothing = { path, blocks_hidden: 0, tokens_hidden: 0, tail_limit: tailTokens }
  const positions = positionsAt(slice, path)
  const newest = positions.at(-1)
  if (newest === undefined) return { ok: false, status: 'not_found', report: { ...nothing, status: 'not_found' } }

  const frozen = frozenUntil(points)
  if (newest <= frozen) {
    const report: HideReport = { ...nothing, status: 'too_old', before_cache: true }
    return { ok: false, status: 'too_old', notice: 'hide_before_cache', report }
  }
  const tail = measureTail(slice, frozen, tokens)
  const found = { ...nothing, tail_tokens: tail.tokensFrom(newest) }
  if (found.tail_tokens > tailTokens) {
    return { ok: false, status: 'too_old', notice: 'hide_too_old', report: { ...found, status: 'too_old' } }
  }

  const editable = tail.editableFrom(tailTokens)
  const group = positions.filter((position) => position >= editable).map((position) => slice.shown[position] as ShownBlock)
  const text = replacementText(request.replacement_text)
  return {
    ok: true,
    change: { type: 'blocks.hidden', ids: group.map(({ block }) => block.id), replacement_text: text, reason: 'hide' },
    report: { ...found, status: 'ok', ...hiddenCounts(group, hiddenLine(text, path), tokens) },
  }
}

/** Whether the turn has folded something, read again since or not: what `cachePoints` wants to know, also after a restart. */
export function turnHasHidden(timeline: Timeline, turnId: string): boolean {
  const blocks = blocksOfTurn(timeline, turnId)
  const asked = new Set(blocks.map(readToolCall).flatMap((call) => (call && hideTools.has(call.tool_id) ? [call.tool_call_id] : [])))
  return blocks.some(
    (block) => (isHidden(block) && block.meta?.hidden_reason === 'hide') || (asked.has(callIdOf(block) ?? '') && reportsOk(block)),
  )
}

const hideTools: ReadonlySet<string> = new Set(['react.hide', 'react.memory_hide'])

function reportsOk(block: Block): boolean {
  const report = block.type === 'react.tool.result' ? parseJson(block.text) : undefined
  return isObject(report) && report.status === 'ok'
}

/** Blocks that were hidden before only get the new text; they hide nothing more. */
function hiddenCounts(
  group: readonly ShownBlock[],
  line: string,
  tokens: TokenCounter,
): Pick<HideReport, 'blocks_hidden' | 'tokens_hidden'> {
  const fresh = group.filter(({ block }) => !isHidden(block))
  if (fresh.length === 0) return { blocks_hidden: 0, tokens_hidden: 0 }
  const before = group.reduce((sum, { parts }) => sum + tokensOf(parts, tokens), 0)
  return { blocks_hidden: fresh.length, tokens_hidden: before - tokens(line) }
}

/** By code points, so that no character is cut in half. */
function replacementText(given: string): string {
  if (given.trim() === '') return defaultReplacement
  return given.length <= maxReplacementChars ? given : [...given].slice(0, maxReplacementChars).join('')
}

const hiddenLine = (text: string, path: string) => `HIDDEN — ${text.trim().replace(/\.$/, '')}. Retrieve with react.read(${path})`

/** One spelling for what an agent names and what a block carries: either may use an older form. */
export const canonicalAddress = (path: string): string => canonicalPath(path.trim()) ?? path.trim()

const ownAddress = oncePerBlock((block: Block) => (block.path === undefined ? undefined : canonicalAddress(block.path)))

/** Rows of a search lie at their call's path, but the model is shown the selector of their sids: it may use either. */
const selectorOf = oncePerBlock((block: Block) => {
  const sids = block.type === 'react.tool.result' ? rowSids(parseJson(block.text)) : []
  return sids.length === 0 ? undefined : canonicalAddress(sourcesPath(sids))
})

const isAt = (block: Block, address: string): boolean =>
  ownAddress(block) === address || (address.startsWith('so:') && selectorOf(block) === address)

/** Positions in the slice of what is shown for a path, oldest first: its blocks, or the line that stands for hidden ones. */
export function positionsAt({ shown }: Slice, address: string): readonly number[] {
  return shown.flatMap(({ block }, position) => (isAt(block, address) ? [position] : []))
}

/** Every block at a path, shown or not, with its position in the timeline. */
export function blocksAt(timeline: Timeline, address: string): readonly { readonly block: Block; readonly position: number }[] {
  const group: { block: Block; position: number }[] = []
  for (let position = 0; position < timeline.size; position++) {
    const block = blockAt(timeline, position)
    if (block && isAt(block, address)) group.push({ block, position })
  }
  return group
}

export function tokensOf(parts: readonly Part[], count: TokenCounter): number {
  return parts.reduce((sum, part) => sum + (part.type === 'text' ? count(part.text) : partTokens(part)), 0)
}

/** What lies after the frozen part, seen from the end. */
export interface TailTokens {
  /** Tokens from this position to the end of the slice. Positions at or before the frozen part are not asked for. */
  readonly tokensFrom: (position: number) => number
  /** The first position that may be edited: it and all after it fit into `limit` tokens. The slice's length when none may. */
  readonly editableFrom: (limit: number) => number
}

export function measureTail(slice: Slice, frozen: number, count: TokenCounter): TailTokens {
  const first = frozen + 1
  const sums: number[] = []
  let sum = 0
  for (let position = slice.shown.length - 1; position >= first; position--) {
    sum += tokensOf(slice.shown[position]?.parts ?? [], count)
    sums[position - first] = sum
  }
  return {
    tokensFrom: (position) => sums[position - first] ?? 0,
    editableFrom: (limit) => {
      const offset = sums.findIndex((tokens) => tokens <= limit)
      return offset === -1 ? slice.shown.length : first + offset
    },
  }
}
