/** The median of many runs, which other load on the machine affects little. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** How long the work took, in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** `append  1.21 × baseline  (budget 1.5)  ok` */
export function report(what: string, ratio: number, budget: number, of = 'baseline'): void {
  console.log(`${what.padEnd(58)} ${ratio.toFixed(2).padStart(6)} × ${of}  (budget ${budget})  ${ratio <= budget ? 'ok' : 'OVER'}`)
}
