import { createGenerator } from '../../src/testing/random.ts'
import { median } from '../measure.ts'
import { createCluster, type Durations } from './cluster.ts'
import { keyOf, rateOf } from './run.ts'
import { createVirtualTime } from './virtual-time.ts'

/**
 * The large simulation. Half of the conversations belong to one tenant, and their messages all arrive at the beginning. The other
 * conversations belong to many tenants, and their messages arrive over time.
 */
export const large = {
  conversations: 100_000,
  workers: 100,
  slots: 4,
  tenants: 99,
  /** The messages of the other tenants arrive within this many seconds. */
  seconds: 200,
  turnMs: 1_000,
  kills: 20,
  restartMs: 5_000,
  freezes: 5,
  freezeMs: 45_000,
  /** One in this many conversations has turns that always fail. */
  oneFails: 500,
}

const quantile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? Number.NaN

/** Runs the large simulation. The same seed gives the same numbers. */
export async function simulateLarge(durations: Omit<Durations, 'turnMs'>, seed: number) {
  const random = createGenerator(seed)
  const time = createVirtualTime()
  const failing = new Set<string>()
  const turnMs = () => large.turnMs * (0.5 + random())
  const cluster = createCluster(time, { ...durations, ...large, turnMs, fails: (id) => failing.has(id) })
  const half = large.conversations / 2
  const messages = Array.from({ length: large.conversations }, (_, n) =>
    n < half
      ? { key: keyOf('flood', n), at: random() * 1_000 }
      : { key: keyOf(`tenant${n % large.tenants}`, n), at: random() * large.seconds * 1_000 },
  )
  for (const [n, { key, at }] of messages.entries()) {
    if (n % large.oneFails === 0) failing.add(key)
    time.after(at, () => void cluster.say(key).catch((error: unknown) => cluster.problems.push(error)))
  }
  const pick = () => {
    const alive = cluster.alive()
    return alive[Math.floor(random() * alive.length)]
  }
  const between = () => (0.05 + 0.8 * random()) * large.seconds * 1_000
  for (let n = 0; n < large.kills; n++)
    time.after(between(), () => {
      const process = pick()
      if (process) cluster.kill(process, large.restartMs)
    })
  for (let n = 0; n < large.freezes; n++)
    time.after(between(), () => {
      const process = pick()
      if (process) cluster.freeze(process, large.freezeMs)
    })
  const closed = large.conversations - failing.size
  await time.runUntil(() => cluster.problems.length > 0 || cluster.counts.closed >= closed)
  if (cluster.problems.length > 0) throw new Error('the simulation failed', { cause: cluster.problems[0] })
  const busySeconds = time.nowMs() / 1_000
  const end = time.nowMs() + 180_000 // by this time, the conversations that fail are parked, and all frozen workers are running again
  await time.runUntil(() => time.nowMs() > end)
  const waitsOf = Map.groupBy(cluster.started, ({ conversationId }) => conversationId.split('/')[0] ?? '')
  const waits = (tenant: string) => (waitsOf.get(tenant) ?? []).map(({ waitedMs }) => waitedMs)
  const quiet = [...waitsOf.keys()].filter((tenant) => tenant !== 'flood')
  const medians = quiet.map((tenant) => median(waits(tenant)))
  const all = quiet.flatMap(waits)
  return {
    turnsPerSecond: rateOf(cluster.started.map(({ at }) => at)),
    busySeconds,
    quietMedianMs: median(all),
    quietP99Ms: quantile(all, 0.99),
    floodMedianMs: median(waits('flood')),
    fairness: Math.max(...medians) / Math.min(...medians),
    resumed: cluster.resumed.length,
    resumeMedianMs: median(cluster.resumed.map(({ ms }) => ms)),
    resumeMaxMs: Math.max(...cluster.resumed.map(({ ms }) => ms)),
    staleWrites: cluster.counts.staleWrites,
    claims: cluster.counts.claims,
    parked: (await cluster.store.work.summary()).parked,
    failing: failing.size,
  }
}
