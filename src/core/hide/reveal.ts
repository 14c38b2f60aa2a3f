import { type Block, callIdOf, isHidden } from '../block/block.ts'
import { type CachePoints, frozenUntil } from '../render/cache-points.ts'
import type { Slice } from '../render/types.ts'
import type { Change } from '../timeline/change.ts'
import { positionOf, type Timeline } from '../timeline/timeline.ts'
import { blocksAt, canonicalAddress } from './hide.ts'

/** How to make hidden blocks visible again at their place. */
export interface RevealPlan {
  readonly change: Extract<Change, { readonly type: 'blocks.revealed' }>
  readonly blocks: readonly Block[]
}

/**
 * Plans to reveal the current content of a path. `isCurrent` says whether a hidden block holds it. The hidden blocks that the same call
 * made at this path are revealed with it, such as the description of an attachment. Other versions of the content stay hidden.
 *
 * Undefined when no hidden block holds the current content, or when it lies in the frozen part: revealing it there would invalidate the
 * cached prefix. The caller then appends the content again.
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

/** The timeline position of the last frozen block. Synthetic headers of the slice are skipped, because they are not in the timeline. */
function frozenPosition(timeline: Timeline, slice: Slice, frozen: number): number {
  for (let at = frozen; at >= 0; at--) {
    const id = slice.shown[at]?.block.id
    const position = id === undefined ? undefined : positionOf(timeline, id)
    if (position !== undefined) return position
  }
  return -1
}
