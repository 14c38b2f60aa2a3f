import { conversationKey } from '../../src/core/scope.ts'
import { median } from '../measure.ts'
import { createCluster, type Durations } from './cluster.ts'
import { createVirtualTime } from './virtual-time.ts'

export const keyOf = (tenant: string, n: number): string => conversationKey({ tenant, project: 'p', user: 'u' }, `c${n}`)

/** The result of a measured or simulated run. Times are in milliseconds. */
export interface RunResult {
  readonly turnsPerSecond: number
  /** The mean wait of the tenant with many messages (`manyWaitMs`), and of the tenant with few messages (`fewWaitMs`). */
  readonly manyWaitMs: number
  readonly fewWaitMs: number
  /** The median time from the stop of a worker until another worker continued one of its conversations. */
  readonly resumeMs: number
}

/**
 * The scenario that is measured and simulated. While all slots are busy, messages of two tenants arrive together. After these messages are
 * answered, new messages make all slots busy again, and one worker stops.
 */
export const scenario = { workers: 3, slots: 4, many: 72, few: 18, freezeAfterMs: 400 }

/** The conversations that occupy all slots at the beginning. */
export const firstKeys: readonly string[] = Array.from({ length: scenario.workers * scenario.slots }, (_, n) => keyOf('first', n))

/** The conversations of the first part of the scenario, in the order in which their messages are stored. */
export const burstKeys: readonly string[] = [
  ...Array.from({ length: scenario.many }, (_, n) => keyOf('many', n)),
  ...Array.from({ length: scenario.few }, (_, n) => keyOf('few', n)),
]

/**
 * Runs the scenario in virtual time. `arrivals` are the times at which the messages of `burstKeys` are stored, in milliseconds after the
 * messages of `firstKeys`.
 */
export async function simulateScenario(durations: Durations, arrivals: readonly number[]): Promise<RunResult> {
  const { workers, slots, many, freezeAfterMs } = scenario
  const time = createVirtualTime()
  const cluster = createCluster(time, { ...durations, workers, slots, fails: () => false })
  await Promise.all(firstKeys.map((key) => cluster.say(key)))
  for (const [n, key] of burstKeys.entries())
    time.after(arrivals[n] ?? 0, () => void cluster.say(key).catch((error: unknown) => cluster.problems.push(error)))
  await time.runUntil(() => cluster.counts.closed === firstKeys.length + burstKeys.length)
  const burst = cluster.started.filter(({ conversationId }) => !conversationId.startsWith('first/'))
  const waits = (tenant: string) =>
    burst.filter(({ conversationId }) => conversationId.startsWith(`${tenant}/`)).map(({ waitedMs }) => waitedMs)
  const total = workers * slots
  await Promise.all(Array.from({ length: total }, (_, n) => cluster.say(keyOf('many', many + n))))
  const begin = time.nowMs()
  await time.runUntil(() => time.nowMs() >= begin + freezeAfterMs)
  const [first] = cluster.alive()
  if (first) cluster.freeze(first, 1e9)
  await time.runUntil(() => cluster.counts.closed === firstKeys.length + burstKeys.length + total)
  return {
    turnsPerSecond: rateOf(burst.map(({ at }) => at)),
    manyWaitMs: mean(waits('many')),
    fewWaitMs: mean(waits('few')),
    resumeMs: median(cluster.resumed.map(({ ms }) => ms)),
  }
}

export const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** How many turns were started per second, from times in milliseconds. */
export function rateOf(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b)
  return ((sorted.length - 1) / ((sorted.at(-1) ?? 0) - (sorted[0] ?? 0))) * 1000
}
