import { type Block, callIdOf, isHidden } from '../block/block.ts'
import { readToolCall } from '../block/tool.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import { isObject, parseJson } from '../json.ts'
import { type CachePoints, frozenUntil } from '../render/cache-points.ts'
import type { ShownBlock, Slice } from '../render/slice.ts'
import type { BlocksHidden } from '../timeline/change.ts'
import { blocksOfTurn, type Timeline } from '../timeline/timeline.ts'
import { canonicalAddress, positionsAt } from './group.ts'
import { measureTail, tokensOf } from './tail.ts'

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
