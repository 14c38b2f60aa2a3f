/** Middle of many runs: robust against whatever else the machine is doing. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Milliseconds that the work took. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** `append  1.21 × floor  (budget 1.5)  ok` */
export function report(what: string, ratio: number, budget: number, of = 'floor'): void {
  console.log(`${what.padEnd(58)} ${ratio.toFixed(2).padStart(6)} × ${of}  (budget ${budget})  ${ratio <= budget ? 'ok' : 'OVER'}`)
}
