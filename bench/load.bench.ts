import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLoadClient, type LoadClient } from '../test/support/load/load-client.ts'
import { messageText } from '../test/support/load/load-model.ts'
import type { LoadServerMessage, Measurement } from '../test/support/load/load-server.ts'

const levels = (process.env.LOAD_CONVERSATIONS ?? '50,500,2000').split(',').map(Number)
const seconds = Number(process.env.LOAD_SECONDS ?? 10)
/** The starts of the conversations are spread over this time, because users do not all send their messages in the same moment. */
const RAMP_MS = 2_000
const script = join(import.meta.dirname, '../test/support/load/load-server.ts')

/**
 * Measures a server in a second process, with SQLite on disk and a model without delay. Each conversation sends a message, reads the events
 * of the turn until it is closed, and then sends the next message. A turn has one tool call. While the conversations run, other clients
 * connect, ten per second.
 */
export async function bench(): Promise<void> {
  console.log(`Times in milliseconds; ${seconds} s for each number of conversations.`)
  console.log(columns.map(([name, width]) => name.padStart(width)).join(''))
  for (const conversations of levels) await measure(conversations)
}

const columns = [
  ['conversations', 13],
  ['turns/s', 9],
  ['cpu/turn', 10],
  ['accepted p50', 14],
  ['p99', 7],
  ['with waiting p99', 18],
  ['first event p99', 17],
  ['loop lag p50', 14],
  ['p99', 7],
  ['max', 7],
  ['refused', 9],
  ['errors', 8],
] as const

async function measure(conversations: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-load-'))
  const child = fork(script, [folder], { execArgv: process.env.LOAD_NODE_OPTIONS?.split(' ') ?? [] })
  const errors: string[] = []
  try {
    const { url } = await nextMessage<{ readonly url: string }>(child)
    const client = createLoadClient({ url: () => url, onError: (what) => errors.push(what), survivesLoss: false })
    const ids = Array.from({ length: conversations }, (_, index) => `c${index}`)
    await inGroups(ids, 50, (id) => client.create(id))
    const streams = ids.map((id) => followTurns(client, id))
    await Promise.all(streams.map(({ opened }) => opened))
    await inGroups([...ids.entries()], 50, ([index, id]) => firstTurn(client, id, streams[index] as TurnStream)) // also makes a title
    await nextMeasurement(child)
    const { turns, took, accepted, waited, firstEvents, refused } = await converse(client, ids, streams)
    const { cpu, lag } = await nextMeasurement(child)
    client.close()
    const times = [accepted, waited, firstEvents].map((values) => at(values, 0.99))
    const values = [turns / took, cpu / turns, at(accepted, 0.5), ...times, lag.p50, lag.p99, lag.max, refused, errors.length]
    const texts = [conversations, ...values].map((value, index) => (index === 2 ? value.toFixed(2) : value.toFixed(0)))
    console.log(columns.map(([, width], index) => texts[index]?.padStart(width)).join(''))
    for (const error of new Set(errors.slice(0, 5))) console.log(`  ${error}`)
  } finally {
    const exited = once(child, 'exit')
    child.disconnect()
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
}

async function firstTurn(client: LoadClient, id: string, stream: TurnStream): Promise<void> {
  const closed = stream.nextClosed()
  await client.send(id, `${id}-first`, messageText(`${id}-first`))
  await closed
}

/** Sends messages to all conversations until the time is over. Then waits until the last turns are closed. */
async function converse(client: LoadClient, ids: readonly string[], streams: readonly TurnStream[]) {
  const [accepted, waited, firstEvents]: [number[], number[], number[]] = [[], [], []]
  const opening = new Set<number>()
  let turns = 0
  let refused = 0
  const began = performance.now()
  let ended = began // when the last turn was closed. Clients that the server refused may wait longer
  const isOver = () => performance.now() - began > seconds * 1000
  const conversations = ids.map(async (id, index) => {
    await sleep((RAMP_MS * index) / ids.length)
    for (let count = 0; !isOver(); count++) {
      const stream = streams[index] as TurnStream // there is one stream for each conversation
      const closed = stream.nextClosed()
      const started = performance.now()
      const { ms, refusals } = await client.send(id, `${id}-${count}`, messageText(`${id}-${count}`), isOver)
      if (ms === undefined) return
      accepted.push(ms)
      waited.push(performance.now() - started)
      refused += refusals
      await closed
      turns++
      ended = performance.now()
    }
  })
  const newConnections = (async () => {
    for (let count = 0; !isOver(); count++) {
      const started = performance.now()
      const leave = client.follow(ids[(count * 7) % ids.length] as string, {
        onEvent: () => {},
        onOpen(ms) {
          opening.delete(started)
          firstEvents.push(ms)
          leave()
        },
      })
      opening.add(started)
      await sleep(100)
    }
  })()
  await Promise.race([Promise.all([...conversations, newConnections]), sleep((seconds + 60) * 1000, undefined, { ref: false })])
  // for a connection that has received no event yet, the time that it has waited so far is used
  for (const started of opening) firstEvents.push(performance.now() - started)
  return { turns, took: (ended - began) / 1000, accepted, waited, firstEvents, refused }
}

interface TurnStream {
  readonly opened: Promise<void>
  /** Resolves when the next turn is closed. */
  nextClosed(): Promise<void>
}

function followTurns(client: LoadClient, id: string): TurnStream {
  const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>()
  let onClosed = () => {}
  client.follow(id, {
    onOpen: () => onOpen(),
    onEvent(_seq, data) {
      if (data.includes('"turn.closed"')) onClosed()
    },
  })
  return { opened, nextClosed: () => new Promise((resolve) => (onClosed = resolve)) }
}

async function nextMessage<Message extends LoadServerMessage>(child: ChildProcess): Promise<Message> {
  const [message] = (await once(child, 'message')) as [Message]
  return message
}

/** Ends the current measurement of the server and returns its result. The server then starts the next measurement. */
function nextMeasurement(child: ChildProcess): Promise<Measurement> {
  child.send('measure')
  return nextMessage(child)
}

/** Calls `work` for all items, at most `size` at the same time. */
async function inGroups<T>(items: readonly T[], size: number, work: (item: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < items.length; start += size) await Promise.all(items.slice(start, start + size).map(work))
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
