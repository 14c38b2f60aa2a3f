import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createPostgresStore } from '../src/adapters/store/postgres/store.ts'
import { conversationKey } from '../src/core/scope.ts'
import type { ConversationStore } from '../src/ports/store.ts'
import { messageText } from '../test/support/load/load-model.ts'
import { type ServerProcess, startServerProcess } from '../test/support/load/server-process.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { folderSchema } from '../test/support/stores.ts'
import { median } from './measure.ts'

const clock = createSystemClock()
/** How many milliseconds each response of the model takes. A turn has two responses. */
const MODEL_MS = 50
/**
 * How many conversations a worker runs at the same time in the measurement that compares one worker with several workers. The number is
 * small, so that the time of the model is the limit, and not the processor.
 */
const SLOTS = 4
const FLOOD = 10_000

/**
 * Measures workers in processes of their own that share a PostgreSQL database. The bench stores messages in the same way as a web server.
 */
export async function bench(): Promise<void> {
  const server = await startPostgres({ durable: true })
  try {
    await benchStart(server.url)
    await benchTwoWorkers(server.url)
    await benchFlood(server.url)
  } finally {
    await server.stop()
  }
}

/** Opens an empty schema, starts workers on it, and runs `work`. */
async function withWorkers(
  url: string,
  { workers, conversations }: { readonly workers: number; readonly conversations: number },
  work: (store: ConversationStore) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-replicas-'))
  const store = await createPostgresStore({ url, schema: folderSchema(folder), clock, maxConnections: 5 })
  const started: ServerProcess[] = []
  try {
    for (let n = 0; n < workers; n++)
      started.push(await startServerProcess(folder, { database: url, role: 'worker', conversations, delayMs: MODEL_MS }))
    await work(store)
  } finally {
    for (const worker of started) await worker.stop()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Prints a line such as `two workers against one  1.92 ×  (at least 1.6)  ok`. */
function report(what: string, value: number, unit: string, limit: { readonly budget?: number; readonly atLeast?: number } = {}): void {
  const { budget, atLeast } = limit
  const isMet = (budget === undefined || value <= budget) && (atLeast === undefined || value >= atLeast)
  const wanted = budget !== undefined ? `(budget ${budget})` : atLeast !== undefined ? `(at least ${atLeast})` : ''
  console.log(
    `${what.padEnd(76)} ${value.toFixed(2).padStart(8)} ${unit}  ${wanted}  ${wanted === '' ? '' : isMet ? 'ok' : 'NOT MET'}`.trimEnd(),
  )
}

let messages = 0

/** Stores a message for a conversation, which is created if it does not exist. Returns the id of the message. */
async function say(store: ConversationStore, key: string): Promise<string> {
  const id = `m${++messages}`
  await store.offer(key, { event_id: id, kind: 'followup', ts: clock.now(), text: messageText(id) }, { create: true })
  return id
}

/** The milliseconds from the commit of a message until its turn was opened. */
async function startMs(store: ConversationStore, key: string): Promise<number> {
  const id = await say(store, key)
  const stored = Date.now()
  for (;;) {
    let opened: string | undefined
    for await (const { change } of store.readJournal(key, { after: 0 })) {
      if (change.type === 'turn.opened') opened = change.ts
      if (change.type === 'event.folded' && change.event_ids.includes(id)) return Math.max(0, Date.parse(opened ?? '') - stored)
    }
    await sleep(5)
  }
}

async function benchStart(url: string): Promise<void> {
  await withWorkers(url, { workers: 1, conversations: 100 }, async (store) => {
    const times: number[] = []
    for (let n = 0; n < 60; n++) {
      times.push(await startMs(store, `c${n}`))
      await sleep(150) // after this time, the worker is idle again
    }
    report('from a stored message to its turn, one idle worker', median(times.slice(10)), 'ms', { budget: 20 })
  })
}

async function turnsPerSecond(url: string, workers: number): Promise<number> {
  const turns = workers * 150
  let rate = 0
  await withWorkers(url, { workers, conversations: SLOTS }, async (store) => {
    await startMs(store, 'first') // after this turn, the workers have loaded all code
    await Promise.all(Array.from({ length: turns }, (_, n) => say(store, `c${n}`)))
    const before = performance.now()
    const left = async () => (await store.work.summary()).waiting
    const atStart = await left()
    while ((await left()) > turns / 10) await sleep(20)
    rate = ((atStart - (await left())) / (performance.now() - before)) * 1000
  })
  return rate
}

async function benchTwoWorkers(url: string): Promise<void> {
  const one = await turnsPerSecond(url, 1)
  const two = await turnsPerSecond(url, 2)
  report(`turns per second, one worker with ${SLOTS} conversations`, one, '/s')
  report('turns per second, two workers', two, '/s')
  report('two workers against one', two / one, '×', { atLeast: 1.6 })
}

async function benchFlood(url: string): Promise<void> {
  const keyOf = (tenant: string, n: number) => conversationKey({ tenant, project: 'p', user: 'u' }, `c${n}`)
  const flood = async (store: ConversationStore) => {
    for (let n = 0; n < FLOOD; n += 100) await Promise.all(Array.from({ length: 100 }, (_, m) => say(store, keyOf('flood', n + m))))
  }
  /** How many of the waiting turns are started in a second while `work` runs. */
  const rateDuring = async (store: ConversationStore, work: () => Promise<unknown>) => {
    const waiting = async () => ({ count: (await store.work.summary()).waiting, at: performance.now() })
    const before = await waiting()
    await work()
    const after = await waiting()
    return ((before.count - after.count) / (after.at - before.at)) * 1000
  }
  const setup = { workers: 2, conversations: 16 }
  let alone = 0
  await withWorkers(url, setup, async (store) => {
    await flood(store)
    alone = await rateDuring(store, () => sleep(5_000))
  })
  await withWorkers(url, setup, async (store) => {
    const starts = async (from: number) => {
      const times: number[] = []
      for (let n = 0; n < 40; n++) {
        times.push(await startMs(store, keyOf('quiet', from + n)))
        await sleep(50)
      }
      return median(times)
    }
    await starts(0)
    const quiet = await starts(100)
    await flood(store)
    let flooded = 0
    const rate = await rateDuring(store, async () => {
      flooded = await starts(200)
    })
    const { waiting } = await store.work.summary()
    report('start of a turn of a quiet tenant', quiet, 'ms')
    report(`the same while ${waiting} of ${FLOOD} messages of another tenant wait`, flooded, 'ms')
    report('with the flood against without', flooded / quiet, '×', { budget: 2 })
    report('turns per second of the tenant with many messages, meanwhile', rate, '/s')
    report('turns per second of the same tenant, if there is no other', alone, '/s')
  })
}
