import { type Block, isHidden } from '../block/block.ts'
import { oncePerBlock } from '../block/reader.ts'
import { partsTokens } from '../estimate/estimate.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import { parseJson } from '../json.ts'
import { sourcesPath } from '../path/build.ts'
import { canonicalPath } from '../path/logical.ts'
import { rowSids } from '../render/blocks/tool-result.ts'
import { type CachePoints, frozenUntil } from '../render/cache-points.ts'
import type { ShownBlock, Slice } from '../render/types.ts'
import type { BlocksHidden } from '../timeline/change.ts'
import { blockAt, type Timeline } from '../timeline/timeline.ts'

/** The parameters of `react.hide`. */
export interface HideRequest {
  readonly path: string
  readonly replacement_text: string
}

/** The result of a `react.hide` call, which the agent reads. */
export interface HideReport {
  readonly path: string
  readonly status: 'ok' | 'not_found' | 'too_old'
  readonly before_cache?: true
  readonly blocks_hidden: number
  readonly tokens_hidden: number
  /**
   * The number of tokens in the prompt after the newest block at the path, without the sources and the announce. Undefined when this block
   * is in the cached part of the prompt or is not visible.
   */
  readonly tail_tokens?: number
  readonly tail_limit: number
}

export type HidePlan =
  | { readonly ok: true; readonly change: BlocksHidden; readonly report: HideReport }
  | {
      readonly ok: false
      readonly status: 'not_found' | 'too_old'
      readonly notice?: 'hide_before_cache' | 'hide_too_old'
      /** Why the newest block at the path can not be hidden. */
      readonly reason?: 'previous_turns' | 'earlier_rounds' | 'tail_tokens'
      readonly report: HideReport
    }

export interface HideLimits {
  readonly tokens: TokenCounter
  /** The greatest number of tokens that may follow a hidden block in the prompt. The tokens of the block itself are not included. */
  readonly tailTokens: number
}

export const defaultEditableTailTokens = 4_000
const maxReplacementChars = 400
const defaultReplacement = 'content removed'

/**
 * Plans to hide the blocks at a path. After a block is hidden, the provider must process the prompt after this block again. To keep this
 * cost low, only blocks near the end of the prompt may be hidden:
 *
 *   cached, never changed │ too many tokens follow │ blocks that may be hidden │ sources, announce
 *                         ▲ cache point
 *
 * If the newest block at the path can not be hidden, no block is hidden, because even more tokens follow the older blocks.
 */
export function planHide(slice: Slice, points: CachePoints, request: HideRequest, { tokens, tailTokens }: HideLimits): HidePlan {
  const path = canonicalAddress(request.path)
  const base = { path, blocks_hidden: 0, tokens_hidden: 0, tail_limit: tailTokens }
  const positions = positionsAt(slice, path)
  const newest = positions.at(-1)
  if (newest === undefined) return { ok: false, status: 'not_found', report: { ...base, status: 'not_found' } }

  const frozen = frozenUntil(points)
  if (newest <= frozen) {
    const report: HideReport = { ...base, status: 'too_old', before_cache: true }
    const reason = newest <= (points.prevTurn ?? -1) ? 'previous_turns' : 'earlier_rounds'
    return { ok: false, status: 'too_old', notice: 'hide_before_cache', reason, report }
  }
  const tokensAfter = measureTail(slice, frozen, tokens)
  const measured = { ...base, tail_tokens: tokensAfter(newest) }
  if (measured.tail_tokens > tailTokens) {
    const report: HideReport = { ...measured, status: 'too_old' }
    return { ok: false, status: 'too_old', notice: 'hide_too_old', reason: 'tail_tokens', report }
  }

  const editable = positions.filter((position) => position > frozen && tokensAfter(position) <= tailTokens)
  const group = editable.map((position) => slice.shown[position] as ShownBlock)
  const text = replacementText(request.replacement_text)
  return {
    ok: true,
    change: { type: 'blocks.hidden', ids: group.map(({ block }) => block.id), replacement_text: text, reason: 'hide' },
    report: { ...measured, status: 'ok', ...hiddenCounts(group, hiddenLine(text, path), tokens) },
  }
}

/**
 * The number of blocks and tokens that are removed from the prompt. A block that was already hidden only gets a new replacement text: the
 * block is not counted, but the tokens of its old replacement text are.
 */
function hiddenCounts(
  group: readonly ShownBlock[],
  line: string,
  tokens: TokenCounter,
): Pick<HideReport, 'blocks_hidden' | 'tokens_hidden'> {
  const newlyHidden = group.filter(({ block }) => !isHidden(block))
  if (newlyHidden.length === 0) return { blocks_hidden: 0, tokens_hidden: 0 }
  const before = group.reduce((sum, { parts }) => sum + partsTokens(parts, tokens), 0)
  return { blocks_hidden: newlyHidden.length, tokens_hidden: before - tokens(line) }
}

/** The given text, or a default text if it is blank. A long text is cut between code points, so that no surrogate pair is split. */
function replacementText(given: string): string {
  if (given.trim() === '') return defaultReplacement
  return given.length <= maxReplacementChars ? given : [...given].slice(0, maxReplacementChars).join('')
}

const hiddenLine = (text: string, path: string) => `HIDDEN — ${text.trim().replace(/\.$/, '')}. Retrieve with react.read(${path})`

/**
 * The path in its canonical spelling, so that different spellings of one path can be compared. A text that is not a logical path is only
 * trimmed.
 */
export const canonicalAddress = (path: string): string => canonicalPath(path.trim()) ?? path.trim()

const ownAddress = oncePerBlock((block: Block) => (block.path === undefined ? undefined : canonicalAddress(block.path)))

/**
 * The path of the sources in a search result, such as `so:sources_pool[1-3]`. The prompt shows the sources with this path, but the block
 * itself has the path of its call. The agent may name the block by either of these paths.
 */
const selectorOf = oncePerBlock((block: Block) => {
  const sids = block.type === 'react.tool.result' ? rowSids(parseJson(block.text)) : []
  return sids.length === 0 ? undefined : canonicalAddress(sourcesPath(sids))
})

const isAt = (block: Block, address: string): boolean =>
  ownAddress(block) === address || (address.startsWith('so:') && selectorOf(block) === address)

/** The positions of the rendered blocks at a path, oldest first. A hidden block is included if the prompt shows its replacement text. */
export function positionsAt({ shown }: Pick<Slice, 'shown'>, address: string): readonly number[] {
  return shown.flatMap(({ block }, position) => (isAt(block, address) ? [position] : []))
}

/** All blocks at a path, visible or hidden, with their positions in the timeline. */
export function blocksAt(timeline: Timeline, address: string): readonly { readonly block: Block; readonly position: number }[] {
  const group: { block: Block; position: number }[] = []
  for (let position = 0; position < timeline.size; position++) {
    const block = blockAt(timeline, position)
    if (block && isAt(block, address)) group.push({ block, position })
  }
  return group
}

/**
 * Makes a function that returns the number of tokens after a block. The block is given by its position, which must be greater than
 * `frozen`, the position of the last cached block.
 */
function measureTail({ shown }: Slice, frozen: number, count: TokenCounter): (position: number) => number {
  const after: number[] = []
  let sum = 0
  for (let position = shown.length - 1; position > frozen; position--) {
    after[position - frozen] = sum
    sum += partsTokens(shown[position]?.parts ?? [], count)
  }
  return (position) => after[position - frozen] ?? 0
}
