import type { Part, ShownBlock, Slice } from '../render/types.ts'
import type { BlockBuffer, Timeline } from '../timeline/timeline.ts'
import { binaryPartTokens, type Estimator, tokenUpperBound } from './estimate.ts'

/**
 * Measures how full the context is. Each call looks at the new blocks only. Tokens are counted only when an upper bound, which is derived
 * from the length of the texts, exceeds the limit:
 *
 *   upper bound │▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓        │ limit     below the limit, nothing is counted
 *   exact       │▓▓▓▓▓▓▓│···             │           the blocks up to here were counted at an earlier call
 */
export interface Meter {
  /** Whether the shown blocks have more than `limit` tokens. */
  exceeds(timeline: Timeline, slice: Slice, limit: number): boolean
  /** Tokens of all shown blocks. */
  tokens(timeline: Timeline, slice: Slice): number
  /** Tokens of all shown blocks if they were counted already, otherwise undefined. */
  known(timeline: Timeline, slice: Slice): number | undefined
}

export function createMeter(estimator: Estimator): Meter {
  let buffer: BlockBuffer | undefined
  let size = 0
  let boundedBlocks = 0 // how many blocks are in `upperBound`
  let upperBound = 0
  let countedBlocks = 0 // how many blocks are in `exact`
  let exact = 0

  /** Clears the sums after an edit of earlier blocks. They stay valid while blocks are only appended. */
  function resetIfEdited(timeline: Timeline) {
    if (timeline.buffer !== buffer || timeline.size < size) boundedBlocks = upperBound = countedBlocks = exact = 0
    buffer = timeline.buffer
    size = timeline.size
  }

  function count(timeline: Timeline, { shown }: Slice): number {
    resetIfEdited(timeline)
    for (; countedBlocks < shown.length; countedBlocks++) exact += estimator.parts((shown[countedBlocks] as ShownBlock).parts)
    return exact
  }

  return {
    exceeds(timeline, slice, limit) {
      resetIfEdited(timeline)
      const { shown } = slice
      for (; boundedBlocks < shown.length; boundedBlocks++) {
        for (const part of (shown[boundedBlocks] as ShownBlock).parts) upperBound += partUpperBound(part)
      }
      return upperBound > limit && count(timeline, slice) > limit
    },
    tokens: count,
    known: (timeline, { shown }) => {
      const isCounted = timeline.buffer === buffer && timeline.size === size && countedBlocks === shown.length
      return isCounted ? exact : undefined
    },
  }
}

const partUpperBound = (part: Part) => (part.type === 'text' ? tokenUpperBound(part.text) : binaryPartTokens(part))
