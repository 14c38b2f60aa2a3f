import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_MS } from '../../../src/ports/store.ts'
import type { ServerSettings } from '../../../src/server/settings.ts'
import { startPostgres } from '../postgres.ts'
import { type RedisServer, startRedis } from '../redis.ts'
import { noteWriters } from './journal-writers.ts'
import { advanceClock } from './movable-clock.ts'
import { type ClientReport, startReplicaClients } from './replica-clients.ts'
import { type MetricsReport, watchMetrics } from './replica-metrics.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

/** The load of the replicas, and the faults that are injected. The faults are injected one after the other, in random order. */
export interface ReplicaFaults {
  readonly conversations: number
  /** One replica for each role. At least one of them accepts messages, and at least one runs turns. */
  readonly roles: readonly ServerSettings['role'][]
  /** How many replicas are killed (SIGKILL) and started again. All replicas are killed equally often. */
  readonly kills: number
  /** How often a replica that runs turns is frozen (SIGSTOP) for longer than its leases, and woken. */
  readonly freezes: number
  /** If `clock`, the clocks of all replicas are moved while one is frozen, instead of waiting for the end of its leases. */
  readonly freezeBy: 'time' | 'clock'
  /** How often PostgreSQL is killed and started again. */
  readonly databaseRestarts: number
  /**
   * How often Redis is emptied, killed and started again. If this is not set, there is no Redis, and PostgreSQL carries the live events.
   */
  readonly redisRestarts?: number
  /** The pause between two faults, on average. */
  readonly everyMs: number
  /** The pause between two messages of a conversation, on average. */
  readonly pauseMs: number
}

/** What was done, and what the clients, the tool, the model and the database have seen. The values of `Violations` must be 0. */
export interface ReplicaReport extends Omit<ClientReport, 'repeatedResponses' | 'lateEntries'>, MetricsReport, Violations {
  readonly kills: Readonly<Record<string, number>>
  readonly freezes: number
  readonly databaseRestarts: number
  readonly redisRestarts: number
  /** How often the tool ran. */
  readonly effects: number
  /** How often the model was called. */
  readonly calls: number
  readonly errors: readonly string[]
}

/** Counts of things that must not happen, in addition to the counts of the clients. */
interface Violations {
  /**
   * Entries that followers have received but that are not in the database, and entries in the database that followers have not received.
   */
  readonly lostEntries: number
  /** Messages for which the tool ran more than once. */
  readonly repeatedEffects: number
  /** Steps for which the model was called although its response was stored, or for which two responses were stored. */
  readonly answersPaidTwice: number
  /** Rows of a process that did not own the conversation, and entries of a turn after its end. */
  readonly staleEntries: number
}

const SETTLE_MS = 240_000
const IDLE_MS = 60_000
/** How long a replica is frozen if the clock is moved. In this time, the other replicas take over its turns. */
const MOVED_FREEZE_MS = 3_000
const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T

/**
 * Runs conversations on several replicas with one database. Messages, steers, stops and decisions are sent to random replicas. A follower
 * connects to a random replica at every new connection. Meanwhile replicas are killed and frozen, and the database is restarted.
 */
export async function runReplicaFaults(run: ReplicaFaults): Promise<ReplicaReport> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-replicas-'))
  const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const postgres = await startPostgres({ durable: true })
    closers.push(() => postgres.stop())
    const redis = run.redisRestarts === undefined ? undefined : await startRedis()
    if (redis) closers.push(() => redis.stop())
    const replicas: ServerProcess[] = []
    for (const role of run.roles) {
      const choices = {
        role,
        database: postgres.url,
        redis: redis?.url,
        delayMs: 40,
        recordCalls: true,
        movableClock: run.freezeBy === 'clock',
      }
      const replica = await startServerProcess(folder, choices)
      replicas.push(replica)
      closers.push(() => replica.stop())
    }
    const writers = await noteWriters(folder, postgres.url)
    const webs = replicas.filter(({ role }) => role !== 'worker')
    const clients = await startReplicaClients({ ...run, url: () => pick(webs).url })
    closers.push(() => clients.close())
    const metrics = watchMetrics(() => pick(replicas).url)
    closers.push(() => metrics.stop())
    const done = await injectFaults(run, folder, replicas, () => postgres.restart(), redis)
    clients.end()
    const errors: string[] = []
    if (!(await clients.settled(SETTLE_MS))) errors.push(`after ${SETTLE_MS / 1000} seconds without faults, some messages are not answered`)
    // turns that a steer has started may still run
    await until(IDLE_MS, async () => (await metrics.isIdle()) && (await writers.rows()).count === clients.report().entries)
    const { repeatedResponses, lateEntries, ...seen } = clients.report()
    const rows = await writers.rows()
    if (rows.unnoted > 0) errors.push(`the writer of ${rows.unnoted} rows is not known`)
    const effects = linesOf(folder, 'effects').map((line) => line.split(' ')[1])
    const calls = linesOf(folder, 'calls')
    return {
      ...done,
      ...seen,
      ...(await metrics.stop()),
      effects: effects.length,
      calls: calls.length,
      lostEntries: Math.abs(rows.count - seen.entries) + rows.missing,
      repeatedEffects: effects.length - new Set(effects).size,
      answersPaidTwice: repeatedResponses + callsAfterResponse(calls, clients.steps()),
      staleEntries: (await writers.staleRows()) + lateEntries,
      errors: [...new Set([...errors, ...clients.errors])],
    }
  } finally {
    for (const close of closers.reverse()) await close()
  }
}

/** Waits until the condition is true, at most `withinMs` milliseconds. */
async function until(withinMs: number, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline && !(await isTrue())) await sleep(200)
}

/** Injects all faults in random order. */
async function injectFaults(
  { kills, freezes, freezeBy, databaseRestarts, redisRestarts = 0, everyMs }: ReplicaFaults,
  folder: string,
  replicas: readonly ServerProcess[],
  restartDatabase: () => Promise<void>,
  redis: RedisServer | undefined,
) {
  const killed: Record<string, number> = {}
  const faults = [
    ...Array.from({ length: kills }, (_, n) => async () => {
      const replica = replicas[n % replicas.length] as ServerProcess
      killed[replica.role] = (killed[replica.role] ?? 0) + 1
      await replica.restart()
    }),
    ...Array.from({ length: freezes }, () => async () => {
      const frozen = pick(replicas.filter(({ role }) => role !== 'web'))
      frozen.signal('SIGSTOP')
      if (freezeBy === 'clock') advanceClock(folder, LEASE_MS + 1_000)
      await sleep(freezeBy === 'clock' ? MOVED_FREEZE_MS : LEASE_MS + 10_000)
      frozen.signal('SIGCONT')
    }),
    ...Array.from({ length: databaseRestarts }, () => restartDatabase),
    ...Array.from({ length: redisRestarts }, () => async () => {
      await redis?.flush()
      await redis?.restart()
    }),
  ]
  for (const fault of faults.toSorted(() => Math.random() - 0.5)) {
    await sleep(everyMs * (0.5 + Math.random()))
    await fault()
  }
  await sleep(everyMs)
  return { kills: killed, freezes, databaseRestarts, redisRestarts }
}

function linesOf(folder: string, name: string): readonly string[] {
  const file = join(folder, name)
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}

/** How many calls of the model began after the response for their step was stored. Each line of `calls` has a time and a step. */
function callsAfterResponse(calls: readonly string[], steps: ReadonlyMap<string, string>): number {
  return calls.filter((line) => {
    const end = line.indexOf(' ')
    const storedAt = steps.get(line.slice(end + 1))
    return storedAt !== undefined && line.slice(0, end) > storedAt
  }).length
}
