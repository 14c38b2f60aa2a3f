import { type Block, blockId, type Draft } from '../block/block.ts'
import { completeBlock, type IncompleteBlock } from '../block/complete.ts'
import type { Timeline } from './timeline.ts'

/** Numbers drafts in the order they are entered. */
export function assignIds(timeline: Pick<Timeline, 'nextBlock'>, drafts: readonly Draft[]): readonly Block[] {
  return drafts.map((draft, index) => numbered(draft, blockId(timeline.nextBlock + index)))
}

/**
 * A copy, then its number: the other way round costs three times as much. What every round enters is copied at a place of its own,
 * because a place that meets few shapes copies three times as fast as one that meets all.
 */
function numbered(draft: Draft, id: string): Block {
  switch (draft.type) {
    case 'react.thinking':
      return { ...draft, id }
    case 'react.notes':
      return { ...draft, id }
    case 'react.tool.call':
      return { ...draft, id }
    case 'react.tool.result':
      return { ...draft, id }
    default:
      return { ...draft, id }
  }
}

/** The same for blocks that a stranger hands in: what they lack is filled from the turn at hand. */
export function enterLoose(
  timeline: Pick<Timeline, 'nextBlock'>,
  blocks: readonly IncompleteBlock[],
  turn: { readonly turnId: string; readonly now: string },
): readonly Block[] {
  return blocks.map((block, index) => completeBlock(block, { ...turn, number: timeline.nextBlock + index }))
}
