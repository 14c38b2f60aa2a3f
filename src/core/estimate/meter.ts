import type { Part } from '../render/part.ts'
import type { Slice } from '../render/slice.ts'
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
  readonly size: number
  readonly bounded: number
  readonly most: number
  readonly counted: number
  readonly exact: number
}

export function createMeter(estimator: Estimator): Meter {
  let last: Reading | undefined

  /** Appending never changes what is shown already, so an older reading of the same spine still holds for what it saw. */
  const readingOf = (timeline: Timeline): Reading =>
    last && last.spine === timeline.spine && last.size <= timeline.size
      ? { ...last, size: timeline.size }
      : { spine: timeline.spine, size: timeline.size, bounded: 0, most: 0, counted: 0, exact: 0 }

  function count(timeline: Timeline, slice: Slice): number {
    const reading = readingOf(timeline)
    const exact = sumFrom(slice, reading.counted, reading.exact, estimator.parts)
    last = { ...reading, counted: slice.shown.length, exact }
    return exact
  }

  return {
    exceeds(timeline, slice, limit) {
      const reading = readingOf(timeline)
      const most = sumFrom(slice, reading.bounded, reading.most, mostOf)
      last = { ...reading, bounded: slice.shown.length, most }
      return most > limit && count(timeline, slice) > limit
    },
    tokens: count,
    known: ({ spine, size }, slice) =>
      last?.spine === spine && last.size === size && last.counted === slice.shown.length ? last.exact : undefined,
  }
}

function sumFrom(slice: Slice, from: number, start: number, measure: (parts: readonly Part[]) => number): number {
  let sum = start
  for (let position = from; position < slice.shown.length; position++) sum += measure(slice.shown[position]?.parts ?? [])
  return sum
}

const mostOf = (parts: readonly Part[]) => parts.reduce((sum, part) => sum + mostOfPart(part), 0)
const mostOfPart = (part: Part) => (part.type === 'text' ? mostTokens(part.text) : partTokens(part))
