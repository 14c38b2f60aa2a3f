import type { Part, ShownBlock, Slice } from '../render/types.ts'
import type { BlockBuffer, Timeline } from '../timeline/timeline.ts'
import { type Estimator, partTokens, tokenUpperBound } from './estimate.ts'

/**
 * How full the context is, at the cost of what is new: a timeline that extends the one before only has its new blocks looked at,
 * and nothing is counted while even a token per byte would fit.
 *
 *   most   │▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓        │ limit     an upper bound, by length alone: below the limit, nothing is counted
 *   exact  │▓▓▓▓▓▓▓│···             │           counted up to here; the rest when it matters
 */
export interface Meter {
  /** Whether what is shown has more tokens than that. */
  exceeds(timeline: Timeline, slice: Slice, limit: number): boolean
  /** Tokens of everything shown, exactly. */
  tokens(timeline: Timeline, slice: Slice): number
  /** The same, if it happens to be known already. */
  known(timeline: Timeline, slice: Slice): number | undefined
}

export function createMeter(estimator: Estimator): Meter {
  let spine: BlockBuffer | undefined
  let size = 0
  let bounded = 0 // blocks that are in `most`
  let most = 0
  let counted = 0 // blocks that are in `exact`
  let exact = 0

  /** Appending never changes what is shown already, so what was read of a spine still holds when it has grown. */
  function turnTo(timeline: Timeline) {
    if (timeline.buffer !== spine || timeline.size < size) bounded = most = counted = exact = 0
    spine = timeline.buffer
    size = timeline.size
  }

  function count(timeline: Timeline, { shown }: Slice): number {
    turnTo(timeline)
    for (; counted < shown.length; counted++) exact += estimator.parts((shown[counted] as ShownBlock).parts)
    return exact
  }

  return {
    exceeds(timeline, slice, limit) {
      turnTo(timeline)
      const { shown } = slice
      for (; bounded < shown.length; bounded++) for (const part of (shown[bounded] as ShownBlock).parts) most += partUpperBound(part)
      return most > limit && count(timeline, slice) > limit
    },
    tokens: count,
    known: (timeline, { shown }) => (timeline.buffer === spine && timeline.size === size && counted === shown.length ? exact : undefined),
  }
}

const partUpperBound = (part: Part) => (part.type === 'text' ? tokenUpperBound(part.text) : partTokens(part))
