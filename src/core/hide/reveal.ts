import { type Block, callIdOf, isHidden } from '../block/block.ts'
import { type CachePoints, frozenUntil } from '../render/cache-points.ts'
import type { Slice } from '../render/types.ts'
import type { Change } from '../timeline/change.ts'
import { positionOf, type Timeline } from '../timeline/timeline.ts'
import { blocksAt, canonicalAddress } from './hide.ts'

/** The change that makes hidden blocks visible again, and these blocks. */
export interface RevealPlan {
  readonly change: Extract<Change, { readonly type: 'blocks.revealed' }>
  readonly blocks: readonly Block[]
}

/**
 * Plans to make the current content of a path visible again. `isCurrent` tells whether a hidden block has this content. Other hidden blocks
 * that the same call made at this path, such as the digest of an attachment, are revealed together with this block. Older content at the
 * path stays hidden.
 *
 * The result is undefined when no hidden block has the current content. It is also undefined when the block is in the cached part of the
 * prompt, because revealing it would invalidate the cached prefix. In both cases the caller appends the content again.
 */
export function planReveal(
  timeline: Timeline,
  slice: Slice,
  points: CachePoints,
  path: string,
  isCurrent: (block: Block) => boolean,
): RevealPlan | undefined {
  const frozen = frozenPosition(timeline, slice, frozenUntil(points))
  const hidden = blocksAt(timeline, canonicalAddress(path)).flatMap(({ block, position }) =>
    position > frozen && isHidden(block) ? [block] : [],
  )
  const current = hidden.findLast(isCurrent)
  if (!current) return undefined
  const blocks = hidden.filter((block) => callIdOf(block) === callIdOf(current) && block.turn_id === current.turn_id)
  return { change: { type: 'blocks.revealed', ids: blocks.map(({ id }) => id) }, blocks }
}

/**
 * The position in the timeline of the last block in the cached part. Headers that the renderer has added to the prompt are skipped, because
 * they are not in the timeline.
 */
function frozenPosition(timeline: Timeline, slice: Slice, frozen: number): number {
  for (let at = frozen; at >= 0; at--) {
    const id = slice.shown[at]?.block.id
    const position = id === undefined ? undefined : positionOf(timeline, id)
    if (position !== undefined) return position
  }
  return -1
}
