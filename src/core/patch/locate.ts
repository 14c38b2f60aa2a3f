/** Finds runs of lines in a text. Lines are numbered once, so that a comparison costs the same however long they are. */
export interface Locator {
  /** Whether the run stands at this index. */
  matchesAt(run: LineRun, index: number): boolean
  /**
   * The index nearest to `wanted` where the run stands, between `from` and `to` (not included). Of two equally near ones the later.
   * Undefined when there is none, or when looking for it became too costly: see `exhausted`.
   */
  nearest(run: LineRun, wanted: number, from: number, to: number): number | undefined
  /** Indexes at which this line stands, ascending. */
  indexesOf(line: string): readonly number[]
  runOf(lines: readonly string[]): LineRun
  readonly comparisons: number
  readonly exhausted: boolean
}

/** Lines by number; -1 is a line that the text does not have. */
export type LineRun = Int32Array

/** How many lines are compared for one patch before it is refused. A patch with sound line numbers needs one comparison for each of its lines. */
export const maxComparisons = 10_000_000

export function createLocator(lines: readonly string[]): Locator {
  const numbers = new Map<string, number>()
  const places: number[][] = []
  const text = Int32Array.from(lines, (line, index) => {
    const number = numbers.get(line) ?? numbers.size
    if (number === places.length) {
      numbers.set(line, number)
      places.push([])
    }
    places[number]?.push(index)
    return number
  })
  let comparisons = 0

  function standsAt(run: LineRun, index: number): boolean {
    if (index < 0 || index + run.length > text.length) return false
    for (let offset = 0; offset < run.length; offset++) {
      comparisons++
      if (run[offset] !== text[index + offset]) return false
    }
    return true
  }

  /** Of the lines of a run the one that stands at the fewest places: every match goes through one of them. */
  function rarest(run: LineRun): { readonly offset: number; readonly places: readonly number[] } {
    let best = { offset: 0, places: placesOf(run[0]) }
    for (let offset = 1; offset < run.length && best.places.length > 1; offset++) {
      const found = placesOf(run[offset])
      if (found.length < best.places.length) best = { offset, places: found }
    }
    return best
  }

  const placesOf = (number: number | undefined): readonly number[] => places[number ?? -1] ?? []

  function nearest(run: LineRun, wanted: number, from: number, to: number): number | undefined {
    const { offset, places: candidates } = rarest(run)
    const aim = Math.min(Math.max(wanted, from), to - 1)
    let above = firstNotBelow(candidates, aim + offset)
    let below = above - 1
    while (comparisons < maxComparisons) {
      const later = placeIn(candidates, above, offset, from, to)
      const earlier = placeIn(candidates, below, offset, from, to)
      if (later === undefined && earlier === undefined) return undefined
      const takeLater = earlier === undefined || (later !== undefined && later - aim <= aim - earlier)
      const index = (takeLater ? later : earlier) as number // one of them is there
      if (standsAt(run, index)) return index
      if (takeLater) above++
      else below--
    }
    return undefined
  }

  return {
    matchesAt: standsAt,
    nearest,
    indexesOf: (line) => placesOf(numbers.get(line)),
    runOf: (run) => Int32Array.from(run, (line) => numbers.get(line) ?? -1),
    get comparisons() {
      return comparisons
    },
    get exhausted() {
      return comparisons >= maxComparisons
    },
  }
}

function placeIn(candidates: readonly number[], at: number, offset: number, from: number, to: number): number | undefined {
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
