/** The median of the values. Other load on the machine changes it less than the mean. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Returns how many milliseconds `work` takes. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Prints a line such as `append  1.21 × baseline  (budget 1.5)  ok`. */
export function report(what: string, ratio: number, budget: number, of = 'baseline'): void {
  console.log(`${what.padEnd(58)} ${ratio.toFixed(2).padStart(6)} × ${of}  (budget ${budget})  ${ratio <= budget ? 'ok' : 'OVER'}`)
}
