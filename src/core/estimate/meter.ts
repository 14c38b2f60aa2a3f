import type { Part } from '../render/part.ts'
import type { Shown, Slice } from '../render/slice.ts'
import type { Spine } from '../timeline/spine.ts'
import type { Timeline } from '../timeline/timeline.ts'
import { partTokens } from './binary.ts'
import { type Estimator, mostTokens } from './estimator.ts'

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

interface Reading {
  readonly spine: Spine
  size: number
  bounded: number
  most: number
  counted: number
  exact: number
}

export function createMeter(estimator: Estimator): Meter {
  let last: Reading | undefined

  /** Appending never changes what is shown already, so an older reading of the same spine still holds for what it saw. */
  function readingOf({ spine, size }: Timeline): Reading {
    if (last?.spine !== spine || last.size > size) last = { spine, size, bounded: 0, most: 0, counted: 0, exact: 0 }
    last.size = size
    return last
  }

  function count(timeline: Timeline, { shown }: Slice): number {
    const reading = readingOf(timeline)
    for (; reading.counted < shown.length; reading.counted++) reading.exact += estimator.parts((shown[reading.counted] as Shown).parts)
    return reading.exact
  }

  return {
    exceeds(timeline, slice, limit) {
      const reading = readingOf(timeline)
      const { shown } = slice
      for (; reading.bounded < shown.length; reading.bounded++) reading.most += mostOf((shown[reading.bounded] as Shown).parts)
      return reading.most > limit && count(timeline, slice) > limit
    },
    tokens: count,
    known: ({ spine, size }, { shown }) =>
      last?.spine === spine && last.size === size && last.counted === shown.length ? last.exact : undefined,
  }
}

function mostOf(parts: readonly Part[]): number {
  let sum = 0
  for (const part of parts) sum += part.type === 'text' ? mostTokens(part.text) : partTokens(part)
  return sum
}
