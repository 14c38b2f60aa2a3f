import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** The arguments of the program, as JSON. */
export const argumentsOf = <T>(): T => JSON.parse(process.argv[2] ?? '{}') as T

/** Prints the values for the process that started this program. */
export const give = (values: Readonly<Record<string, number>>): void => console.log(JSON.stringify(values))

/**
 * A duration in milliseconds. `ms` is the elapsed time. `cpu` is the processor time of this thread. Other load on the machine changes it
 * less than the elapsed time.
 */
export interface Time {
  readonly ms: number
  readonly cpu: number
}

const cpuNow = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** The present moment, for `timeSince`. */
export const startTime = (): Time => ({ ms: performance.now(), cpu: cpuNow() })

export const timeSince = (start: Time): Time => ({ ms: performance.now() - start.ms, cpu: cpuNow() - start.cpu })

/** How long `work` takes. */
export async function timed(work: () => Promise<unknown>): Promise<Time> {
  const started = startTime()
  await work()
  return timeSince(started)
}

/**
 * The shortest elapsed time and the mean processor time. A single processor time is not precise, because the system counts it in steps of
 * some milliseconds.
 */
export const bestTime = (times: readonly Time[]): Time => ({
  ms: Math.min(...times.map(({ ms }) => ms)),
  cpu: times.reduce((sum, { cpu }) => sum + cpu, 0) / times.length,
})

/** The numbers of several times by name, each multiplied by `factor`. The processor time of `hot` has the name `hotCpu`. */
export function namedTimes(times: Readonly<Record<string, Time>>, factor = 1): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(times).flatMap(([name, { ms, cpu }]) => [
      [name, ms * factor],
      [`${name}Cpu`, cpu * factor],
    ]),
  )
}

/** Reads all values, as a caller does that follows a turn. */
export async function readAll(values: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _value of values) count++
  return count
}

/** How many bytes of memory are in use after a garbage collection, including buffers outside of the heap. */
export function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed: inHeap, external } = process.memoryUsage()
  return inHeap + external
}
