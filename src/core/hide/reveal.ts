import { type Block, isHidden } from '../block/block.ts'
import { type CachePoints, frozenUntil } from '../render/cache-points.ts'
import type { Slice } from '../render/types.ts'
import type { Change } from '../timeline/change.ts'
import { positionOf, type Timeline } from '../timeline/timeline.ts'
import { blocksAt, canonicalAddress, positionsAt } from './hide.ts'

/**
 * How to make hidden content visible again without changing the cached prefix. Blocks after the frozen part are revealed in place.
 * Blocks in the frozen part stay hidden, and their content is appended again at the end.
 */
export type RevealPlan =
  | { readonly kind: 'reveal'; readonly change: Extract<Change, { readonly type: 'blocks.revealed' }>; readonly blocks: readonly Block[] }
  /** Copies of these hidden blocks have to be appended. Of several blocks with the same content, there is only one. */
  | { readonly kind: 'copy'; readonly blocks: readonly Block[] }
  /** Everything at this path is already visible. */
  | { readonly kind: 'visible'; readonly blocks: readonly Block[] }
  /** The timeline has no block at this path. */
  | { readonly kind: 'missing' }

export function planReveal(timeline: Timeline, slice: Slice, points: CachePoints, path: string): RevealPlan {
  const address = canonicalAddress(path)
  const visible = positionsAt(slice, address)
    .flatMap((position) => slice.shown[position]?.block ?? [])
    .filter((block) => !isHidden(block))
  const visibleContents = new Set(visible.map(contentKey))
  const hidden = blocksAt(timeline, address).filter(({ block }) => isHidden(block))
  const wanted = hidden.filter(({ block }) => !visibleContents.has(contentKey(block)))
  if (wanted.length === 0) return visible.length === 0 ? { kind: 'missing' } : { kind: 'visible', blocks: visible }

  const frozen = frozenPosition(timeline, slice, frozenUntil(points))
  if (wanted.some(({ position }) => position <= frozen)) return { kind: 'copy', blocks: distinctContents(wanted.map(({ block }) => block)) }
  // This includes the block that has the replacement text.
  const blocks = hidden.filter(({ position }) => position > frozen).map(({ block }) => block)
  return { kind: 'reveal', change: { type: 'blocks.revealed', ids: blocks.map(({ id }) => id) }, blocks }
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

/** A key that is equal for blocks with the same content, even if different calls made them. */
const contentKey = ({ mime, text, blob, base64 }: Block): string => JSON.stringify([mime, text, blob?.sha256 ?? base64])

function distinctContents(blocks: readonly Block[]): readonly Block[] {
  return [...new Map(blocks.map((block) => [contentKey(block), block])).values()]
}
