/** The cost of one unit, in microseconds, in a workload of this size. */
export type CostPerUnit = (size: number) => Promise<number>

/** A workload that is measured at three sizes: the smallest, ten times as large, and a hundred times as large. */
export interface Growth {
  readonly what: string
  readonly smallest: number
  readonly cost: CostPerUnit
  /** How often each size is measured. The result is the lowest cost. */
  readonly takes?: number
  /** The text after the cost in the printed line, such as ` per list`. */
  readonly unit?: string
}

const BUDGET = 1.3

/**
 * Measures the cost of a unit at the three sizes. The measurements of the sizes alternate. Prints the largest growth of the cost between
 * two sizes.
 */
export async function measureGrowth({ what, smallest, cost, takes = 4, unit = '' }: Growth): Promise<void> {
  const sizes = [smallest, 10 * smallest, 100 * smallest]
  const best = sizes.map(() => Number.POSITIVE_INFINITY)
  for (let take = 0; take < takes; take++) {
    for (const [index, size] of sizes.entries()) best[index] = Math.min(best[index] as number, await cost(size))
  }
  const [one, ten, hundred] = best as [number, number, number]
  const growth = Math.max(ten / one, hundred / one, hundred / ten)
  const costs = best.map((micros) => micros.toFixed(micros < 10 ? 2 : micros < 1_000 ? 1 : 0)).join(' → ')
  const verdict = growth <= BUDGET ? 'ok' : 'OVER'
  console.log(`${what.padEnd(62)} ${growth.toFixed(2)} ×  (budget ${BUDGET})  ${verdict}  ${costs} µs${unit} at ${sizes.join(', ')}`)
}

/** How many microseconds `work` takes for each of `units`. */
export async function microsFor(units: number, work: () => unknown): Promise<number> {
  const started = performance.now()
  await work()
  return ((performance.now() - started) * 1_000) / units
}

/** Reads all values, as a caller does that follows a turn. */
export async function readAll(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _value of values);
}
