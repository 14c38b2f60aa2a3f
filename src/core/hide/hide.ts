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

/** The parameters of `react.hide`. The tool replaces visible blocks at a path by one line. */
export interface HideRequest {
  readonly path: string
  readonly replacement_text: string
}

/** The result of a `react.hide` call, as the agent reads it. */
export interface HideReport {
  readonly path: string
  readonly status: 'ok' | 'not_found' | 'too_old'
  readonly before_cache?: true
  readonly blocks_hidden: number
  readonly tokens_hidden: number
  /** The tokens from the newest block at the path to the last block of the prompt. Undefined when that block is frozen or not visible. */
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
  /** The most tokens from an edited block to the last block of the prompt. */
  readonly tailTokens: number
}

export const defaultTailTokens = 2_000
const maxReplacementChars = 400
const defaultReplacement = 'content removed'

/**
 * Plans to hide the blocks at a path. They are hidden only where the edit invalidates little of the provider's cache:
 *
 *   frozen: cached, never edited │ too many tokens to the end │ editable tail │ sources, announce
 *                                ▲ pre-tail or previous turn  ▲ tail limit
 *
 * The newest block at the path must lie in the editable tail. Older blocks at the path are hidden with it only if they also lie there.
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
    return { ok: false, status: 'too_old', notice: 'hide_before_cache', report }
  }
  const tail = measureTail(slice, frozen, tokens)
  const measured = { ...base, tail_tokens: tail.tokensFrom(newest) }
  if (measured.tail_tokens > tailTokens) {
    return { ok: false, status: 'too_old', notice: 'hide_too_old', report: { ...measured, status: 'too_old' } }
  }

  const editable = tail.editableFrom(tailTokens)
  const group = positions.filter((position) => position >= editable).map((position) => slice.shown[position] as ShownBlock)
  const text = replacementText(request.replacement_text)
  return {
    ok: true,
    change: { type: 'blocks.hidden', ids: group.map(({ block }) => block.id), replacement_text: text, reason: 'hide' },
    report: { ...measured, status: 'ok', ...hiddenCounts(group, hiddenLine(text, path), tokens) },
  }
}

/**
 * The number of blocks and tokens that are removed from the prompt. Blocks that were hidden before are not counted as hidden: they only
 * get the new replacement text.
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

/** The given text, or a default when it is blank. A long text is cut by code points, so that no surrogate pair is split. */
function replacementText(given: string): string {
  if (given.trim() === '') return defaultReplacement
  return given.length <= maxReplacementChars ? given : [...given].slice(0, maxReplacementChars).join('')
}

const hiddenLine = (text: string, path: string) => `HIDDEN — ${text.trim().replace(/\.$/, '')}. Retrieve with react.read(${path})`

/** The current spelling of a path. The agent and imported blocks may use an older spelling. */
export const canonicalAddress = (path: string): string => canonicalPath(path.trim()) ?? path.trim()

const ownAddress = oncePerBlock((block: Block) => (block.path === undefined ? undefined : canonicalAddress(block.path)))

/**
 * The selector of the source rows in a search result, such as `so:sources_pool[1-3]`. The prompt shows the rows under this path, but the
 * block has the path of its call. The agent may use either path.
 */
const selectorOf = oncePerBlock((block: Block) => {
  const sids = block.type === 'react.tool.result' ? rowSids(parseJson(block.text)) : []
  return sids.length === 0 ? undefined : canonicalAddress(sourcesPath(sids))
})

const isAt = (block: Block, address: string): boolean =>
  ownAddress(block) === address || (address.startsWith('so:') && selectorOf(block) === address)

/** The positions of the blocks at a path in the slice, oldest first. A hidden block is included when its replacement line is shown. */
export function positionsAt({ shown }: Slice, address: string): readonly number[] {
  return shown.flatMap(({ block }, position) => (isAt(block, address) ? [position] : []))
}

/** All blocks at a path, visible or not, with their positions in the timeline. */
export function blocksAt(timeline: Timeline, address: string): readonly { readonly block: Block; readonly position: number }[] {
  const group: { block: Block; position: number }[] = []
  for (let position = 0; position < timeline.size; position++) {
    const block = blockAt(timeline, position)
    if (block && isAt(block, address)) group.push({ block, position })
  }
  return group
}

/** The sizes of the blocks after the frozen part, in tokens. */
interface TailTokens {
  /** The tokens from this position to the end of the slice. Only for positions after the frozen part. */
  readonly tokensFrom: (position: number) => number
  /** The first position from which all blocks to the end fit into `limit` tokens. The length of the slice when there is none. */
  readonly editableFrom: (limit: number) => number
}

function measureTail(slice: Slice, frozen: number, count: TokenCounter): TailTokens {
  const first = frozen + 1
  const sums: number[] = []
  let sum = 0
  for (let position = slice.shown.length - 1; position >= first; position--) {
    sum += partsTokens(slice.shown[position]?.parts ?? [], count)
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
