/** Finds consecutive lines in a text. Each different line has a number, so that comparing two lines means comparing two numbers. */
export interface Locator {
  /** True when the text has the lines of `run` one after the other, and the first of them is at `index`. */
  matchesAt(run: LineRun, index: number): boolean
  /**
   * The index nearest to `wanted` at which the run matches, at least `from` and less than `to`. If two indexes are equally near, the later
   * one is returned. Undefined when the run does not match in this range, or when too many comparisons were needed (see `exhausted`).
   */
  nearest(run: LineRun, wanted: number, from: number, to: number): number | undefined
  /** All indexes at which the text has this line, in ascending order. */
  indexesOf(line: string): readonly number[]
  /** Converts lines to a run, with which `matchesAt` and `nearest` can compare them. */
  runOf(lines: readonly string[]): LineRun
  /** The number of comparisons so far. */
  readonly comparisons: number
  /** True when the limit of comparisons is reached. From then on `nearest` finds nothing. */
  readonly exhausted: boolean
}

/**
 * A list of consecutive lines. Each line is stored as the number that the locator gave to its content, and not as its position: equal lines
 * have the same number. A line that does not occur in the text has -1.
 */
export type LineRun = Int32Array

/** The greatest number of comparisons for one patch. A patch with correct line numbers needs only one comparison for each of its lines. */
const maxComparisons = 10_000_000

export function createLocator(lines: readonly string[]): Locator {
  const numbers = new Map<string, number>()
  const indexes: number[][] = []
  const text = Int32Array.from(lines, (line, index) => {
    const number = numbers.get(line) ?? numbers.size
    if (number === indexes.length) {
      numbers.set(line, number)
      indexes.push([])
    }
    indexes[number]?.push(index)
    return number
  })
  let comparisons = 0

  function matchesAt(run: LineRun, index: number): boolean {
    if (index < 0 || index + run.length > text.length) return false
    for (let offset = 0; offset < run.length; offset++) {
      comparisons++
      if (run[offset] !== text[index + offset]) return false
    }
    return true
  }

  /** The line of the run that occurs least often in the text. The run can only match where this line occurs. */
  function rarest(run: LineRun): { readonly offset: number; readonly indexes: readonly number[] } {
    let best = { offset: 0, indexes: indexesByNumber(run[0]) }
    for (let offset = 1; offset < run.length && best.indexes.length > 1; offset++) {
      const candidate = indexesByNumber(run[offset])
      if (candidate.length < best.indexes.length) best = { offset, indexes: candidate }
    }
    return best
  }

  const indexesByNumber = (number: number | undefined): readonly number[] => indexes[number ?? -1] ?? []

  function nearest(run: LineRun, wanted: number, from: number, to: number): number | undefined {
    const { offset, indexes: candidates } = rarest(run)
    const aim = Math.min(Math.max(wanted, from), to - 1)
    let above = firstNotBelow(candidates, aim + offset)
    let below = above - 1
    while (comparisons < maxComparisons) {
      const later = startAt(candidates, above, offset, from, to)
      const earlier = startAt(candidates, below, offset, from, to)
      if (later === undefined && earlier === undefined) return undefined
      const takeLater = earlier === undefined || (later !== undefined && later - aim <= aim - earlier)
      const index = (takeLater ? later : earlier) as number // at least one of the two is defined
      if (matchesAt(run, index)) return index
      if (takeLater) above++
      else below--
    }
    return undefined
  }

  return {
    matchesAt,
    nearest,
    indexesOf: (line) => indexesByNumber(numbers.get(line)),
    runOf: (run) => Int32Array.from(run, (line) => numbers.get(line) ?? -1),
    get comparisons() {
      return comparisons
    },
    get exhausted() {
      return comparisons >= maxComparisons
    },
  }
}

function startAt(candidates: readonly number[], at: number, offset: number, from: number, to: number): number | undefined {
  const candidate = candidates[at]
  if (candidate === undefined) return undefined
  const index = candidate - offset
  return index >= from && index < to ? index : undefined
}

function firstNotBelow(ascending: readonly number[], value: number): number {
  let [low, high] = [0, ascending.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ascending[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}
