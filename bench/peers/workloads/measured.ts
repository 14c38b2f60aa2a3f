/** What one run of a workload reports: a value for each of its metrics. */
export type Measured = Readonly<Record<string, number | string>>

/**
 * How many milliseconds of processor time this process needs for `work`. Other load on the machine changes the processor time less than the
 * elapsed time.
 */
export async function cpuTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
