import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { createOwner } from '../../src/agent/conversation/claim.ts'
import type { ConversationStore } from '../../src/ports/store.ts'

import { messageText } from '../../test/support/load/load-model.ts'
import { type ServerProcess, startServerProcess } from '../../test/support/load/server-process.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { folderSchema } from '../../test/support/stores.ts'
import { median } from '../measure.ts'
import type { Durations } from './cluster.ts'
import { burstKeys, firstKeys, keyOf, mean, type RunResult, rateOf, scenario } from './run.ts'

/**
 * How many milliseconds each response of the model takes. A turn has two responses. The time is long, so that the model is the limit, and
 * not the processor.
 */
const MODEL_MS = 500
/** How many milliseconds after the commit of a message the workers get the notice about it. */
const HINT_MS = 6

const clock = createSystemClock()

/**
 * Measures two things on a PostgreSQL database. The first are the durations of the steps of one worker, which the simulation uses. The
 * second is the scenario, run with real workers.
 */
export async function measureScenario(): Promise<{
  readonly durations: Durations
  readonly result: RunResult
  readonly arrivals: readonly number[]
}> {
  const server = await startPostgres({ durable: true })
  try {
    const durations = await withWorkers(server.url, 1, measureDurations)
    return { durations, ...(await withWorkers(server.url, scenario.workers, runScenario)) }
  } finally {
    await server.stop()
  }
}

async function withWorkers<T>(
  url: string,
  count: number,
  work: (store: ConversationStore, workers: readonly ServerProcess[]) => Promise<T>,
) {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-simulation-'))
  const store = await createPostgresStore({ url, schema: folderSchema(folder), clock, maxConnections: 5 })
  const workers: ServerProcess[] = []
  try {
    const choices = { database: url, role: 'worker', conversations: scenario.slots, delayMs: MODEL_MS } as const
    for (let n = 0; n < count; n++) workers.push(await startServerProcess(folder, choices))
    await sayAll(store, [keyOf('warm', 0), keyOf('warm', 1), keyOf('warm', 2), keyOf('warm', 3)])
    for (let n = 0; n < 4; n++) await untilClosed(store, keyOf('warm', n))
    return await work(store, workers)
  } finally {
    for (const worker of workers) await worker.stop()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Stores one message for each conversation, all at once. Returns the times at which they were stored. */
const sayAll = (store: ConversationStore, keys: readonly string[]): Promise<readonly number[]> =>
  Promise.all(
    keys.map(async (key) => {
      const id = key.replaceAll('/', '-')
      await store.offer(key, { event_id: id, kind: 'followup', ts: clock.now(), text: messageText(id) }, { create: true })
      return Date.now()
    }),
  )

async function untilClosed(store: ConversationStore, key: string): Promise<void> {
  for (;;) {
    const head = await store.head(key)
    if (head && head.lastSeq > 0 && head.openTurn === null && head.waiting.length === 0 && head.offers === 0) return
    await sleep(50)
  }
}

/** When the turn of a conversation was opened. */
async function openedAt(store: ConversationStore, key: string): Promise<number> {
  await untilClosed(store, key)
  for await (const { change } of store.readJournal(key, { after: 0 })) if (change.type === 'turn.opened') return Date.parse(change.ts)
  throw new Error(`${key} has no turn`)
}

/** Measures one worker: a claim, the start of a turn, and how long a conversation occupies its slot. */
async function measureDurations(store: ConversationStore): Promise<Durations> {
  const starts: number[] = []
  for (let n = 0; n < 4; n++) {
    const [stored = 0] = await sayAll(store, [keyOf('idle', n)])
    starts.push((await openedAt(store, keyOf('idle', n))) - stored)
  }
  const rounds = 6
  const keys = Array.from({ length: rounds * scenario.slots }, (_, n) => keyOf('burst', n))
  await sayAll(store, keys)
  const opened: number[] = []
  for (const key of keys) opened.push(await openedAt(store, key))
  const cycleMs = (Math.max(...opened) - Math.min(...opened)) / (rounds - 1)
  // the claim takes about half of the time, and the start of the turn the other half
  const startMs = Math.max(1, (median(starts) - HINT_MS) / 2)
  return { hintMs: HINT_MS, claimMs: startMs, startMs, turnMs: () => cycleMs - 2 * startMs }
}

async function runScenario(store: ConversationStore, [stopped]: readonly ServerProcess[]) {
  const { workers, slots, many, freezeAfterMs } = scenario
  const before = Math.max(...(await sayAll(store, firstKeys)))
  await sleep(freezeAfterMs) // after this time, the workers have claimed these conversations
  const stored = await sayAll(store, burstKeys)
  const opened: number[] = []
  for (const key of burstKeys) opened.push(await openedAt(store, key))
  const waits = opened.map((at, n) => Math.max(0, at - (stored[n] ?? 0)))
  const last = Array.from({ length: workers * slots }, (_, n) => keyOf('many', many + n))
  await sayAll(store, last)
  await sleep(freezeAfterMs)
  stopped?.signal('SIGSTOP')
  const result: RunResult = {
    turnsPerSecond: rateOf(opened),
    manyWaitMs: mean(waits.slice(0, many)),
    fewWaitMs: mean(waits.slice(many)),
    resumeMs: median(await resumeTimes(store, last, Date.now())),
  }
  return { result, arrivals: stored.map((at) => at - before) }
}

/** For each conversation of a stopped worker, the milliseconds until another worker has continued it. */
async function resumeTimes(store: ConversationStore, keys: readonly string[], stoppedAt: number): Promise<readonly number[]> {
  await sleep(6 * MODEL_MS) // after this time, the workers that still run have closed the turns of their own conversations
  const asker = createOwner(clock)
  const times: number[] = []
  const untilResumed = async (key: string) => {
    if ((await store.head(key))?.openTurn === null) return
    const before = await store.findOwner(key, asker)
    for (;;) {
      const owner = await store.findOwner(key, asker)
      if (owner && owner.id !== before?.id) return void times.push(Date.now() - stoppedAt)
      await sleep(50)
    }
  }
  await Promise.all(keys.map(untilResumed))
  return times
}
