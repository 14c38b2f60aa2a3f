import { type Block, isHidden } from '../block/block.ts'
import { type CachePoints, frozenUntil } from '../render/cache-points.ts'
import type { Slice } from '../render/types.ts'
import type { Change } from '../timeline/change.ts'
import { positionOf, type Timeline } from '../timeline/timeline.ts'
import { blocksAt, canonicalAddress, positionsAt } from './hide.ts'

/**
 * Bringing hidden content back without touching what is cached: after the frozen part the flag is cleared where the blocks are,
 * before it their content is to be appended anew and the originals stay hidden.
 */
export type RevealPlan =
  | { readonly kind: 'reveal'; readonly change: Extract<Change, { readonly type: 'blocks.revealed' }>; readonly blocks: readonly Block[] }
  /** Hidden blocks whose content is wanted at the tail, each content once, oldest first. */
  | { readonly kind: 'copy'; readonly blocks: readonly Block[] }
  /** Everything at this path can be seen already. */
  | { readonly kind: 'visible'; readonly blocks: readonly Block[] }
  /** The context holds nothing at this path. */
  | { readonly kind: 'missing' }

export function planReveal(timeline: Timeline, slice: Slice, points: CachePoints, path: string): RevealPlan {
  const address = canonicalAddress(path)
  const visible = positionsAt(slice, address)
    .flatMap((position) => slice.shown[position]?.block ?? [])
    .filter((block) => !isHidden(block))
  const seen = new Set(visible.map(contentOf))
  const hidden = blocksAt(timeline, address).filter(({ block }) => isHidden(block))
  const wanted = hidden.filter(({ block }) => !seen.has(contentOf(block)))
  if (wanted.length === 0) return visible.length === 0 ? { kind: 'missing' } : { kind: 'visible', blocks: visible }

  const frozen = frozenPosition(timeline, slice, frozenUntil(points))
  if (wanted.some(({ position }) => position <= frozen)) return { kind: 'copy', blocks: distinctContents(wanted.map(({ block }) => block)) }
  const blocks = hidden.filter(({ position }) => position > frozen).map(({ block }) => block) // all that one hide took, its words included
  return { kind: 'reveal', change: { type: 'blocks.revealed', ids: blocks.map(({ id }) => id) }, blocks }
}

/** Where the frozen part ends in the timeline. Headers that only the slice has are skipped: they hold no place there. */
function frozenPosition(timeline: Timeline, slice: Slice, frozen: number): number {
  for (let at = frozen; at >= 0; at--) {
    const id = slice.shown[at]?.block.id
    const position = id === undefined ? undefined : positionOf(timeline, id)
    if (position !== undefined) return position
  }
  return -1
}

/** The same content is the same whoever read it, and when. */
const contentOf = ({ mime, text, blob, base64 }: Block): string => JSON.stringify([mime, text, blob?.sha256 ?? base64])

function distinctContents(blocks: readonly Block[]): readonly Block[] {
  return [...new Map(blocks.map((block) => [contentOf(block), block])).values()]
}
