import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import type { NativeFrame } from '../../src/core/event.ts'
import { createLoadClient, type LoadClient } from '../support/load/load-client.ts'
import { idToApprove, messageText, noteTool } from '../support/load/load-model.ts'
import { startServerProcess } from '../support/load/server-process.ts'
import { createReplays } from '../support/replay-all.ts'
import { openFolderStore, queryFolder } from '../support/stores.ts'

const cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const work of cleanUp.splice(0).reverse()) await work()
})

/** What one follower has received: the `seq` of each entry, and what became of each message. */
interface Follower {
  readonly seqs: number[]
  /** For each event id, the turns that have read it. Null is a steer for a turn that had ended. */
  readonly reads: Map<string, (string | null)[]>
  readonly accepted: string[]
  readonly closed: string[]
  /** How many decisions were read. */
  decisions: number
}

function followAt(client: LoadClient, conversationId: string, onApproval: (callId: string) => void): Follower {
  const follower: Follower = { seqs: [], reads: new Map(), accepted: [], closed: [], decisions: 0 }
  client.follow(conversationId, {
    onEvent(seq, data) {
      if (seq === undefined) return
      follower.seqs.push(seq)
      const frame = JSON.parse(data) as NativeFrame
      if (frame.type !== 'entry') return
      const { change } = frame
      if (change.type === 'event.accepted') follower.accepted.push(change.event.event_id)
      if (change.type === 'event.accepted' && change.event.kind === 'decision') follower.decisions++
      if (change.type === 'turn.waiting') for (const { kind, call_id = '' } of change.waits) if (kind === 'approval') onApproval(call_id)
      if (change.type === 'event.folded')
        for (const id of change.event_ids) follower.reads.set(id, [...(follower.reads.get(id) ?? []), change.turn_id])
      if (change.type === 'turn.closed') follower.closed.push(change.turn_id)
    },
  })
  return follower
}

const twice = <T>(values: readonly T[]): readonly T[] => values.filter((value, index) => values.indexOf(value) !== index)

const KILLS = 4
const KILL_EVERY_MS = 2_000
const CONVERSATIONS = 5

it('two servers on one folder get messages, steers, stops and decisions for the same turns, and one of them is killed at a time: every message is answered once, and every follower gets every entry once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-shared-turns-'))
  cleanUp.push(() => rmSync(folder, { recursive: true, force: true }))
  const servers = [await startServerProcess(folder, { delayMs: 80 }), await startServerProcess(folder, { delayMs: 80 })]
  for (const server of servers) cleanUp.push(server.stop)
  const errors: string[] = []
  const clients = servers.map(({ url }) => createLoadClient({ url: () => url, onError: (what) => errors.push(what), survivesLoss: true }))
  for (const client of clients) cleanUp.push(client.close)
  const ids = Array.from({ length: CONVERSATIONS }, (_, index) => `c${index}`)
  for (const id of ids) await clients[0]?.create(id)
  /** A person at each server answers every approval that the server shows, mostly with yes. */
  const decide = async (client: LoadClient, id: string, callId: string) => {
    await sleep(Math.random() * 300)
    await client.decide(id, callId, Math.random() < 0.7)
  }
  const followers = new Map(
    ids.map((id) => [id, clients.map((client) => followAt(client, id, (callId) => void decide(client, id, callId)))]),
  )
  const messages = new Map(ids.map((id) => [id, [] as string[]]))
  const steers = new Map(ids.map((id) => [id, [] as string[]]))

  let kills = 0
  let ended = false
  /** Sends messages, steers and stops to one conversation at one server. */
  const talk = async (id: string, client: LoadClient, place: number) => {
    for (let number = 0; !ended; number++) {
      const eventId = `${id}-${place}-${number}`
      const kind = Math.random()
      if (kind < 0.6) {
        await client.send(id, eventId, messageText(kind < 0.2 ? idToApprove(eventId) : eventId))
        messages.get(id)?.push(eventId)
      } else {
        await client.steer(id, eventId, kind < 0.9 ? messageText(eventId) : '')
        steers.get(id)?.push(eventId)
      }
      await sleep(Math.random() * 400)
    }
  }
  const kill = async () => {
    while (kills < KILLS) {
      await sleep(KILL_EVERY_MS * (0.5 + Math.random()))
      await servers[kills++ % servers.length]?.restart()
    }
    await sleep(KILL_EVERY_MS)
    ended = true
  }
  await Promise.all([kill(), ...ids.flatMap((id) => clients.map((client, place) => talk(id, client, place)))])

  for (const [id, [one, two] = []] of followers) {
    const isAnswered = (eventId: string) => one?.reads.get(eventId)?.some((turn) => turn !== null && one.closed.includes(turn)) === true
    const sent = messages.get(id) ?? []
    expect(sent.length).toBeGreaterThan(0)
    await expect.poll(() => sent.filter((eventId) => !isAnswered(eventId)), { timeout: 60_000, interval: 100 }).toEqual([])
    await expect.poll(() => one?.seqs.at(-1) === two?.seqs.at(-1), { timeout: 20_000, interval: 100 }).toBe(true)
    for (const follower of [one, two]) {
      expect(follower?.seqs).toEqual(Array.from({ length: follower?.seqs.length ?? 0 }, (_, n) => n + 1))
      expect(twice(follower?.accepted ?? [])).toEqual([])
      expect(twice(follower?.closed ?? [])).toEqual([])
      for (const eventId of [...sent, ...(steers.get(id) ?? [])]) expect(follower?.reads.get(eventId)?.length ?? 0).toBeLessThan(2)
    }
  }
  const effects = readFileSync(join(folder, 'effects'), 'utf8').split('\n').filter(Boolean)
  expect(twice(effects.map((line) => line.split(' ')[0]))).toEqual([])
  expect(errors).toEqual([])
  const offers = await offersIn(folder)
  expect(offers.open).toBe(undefined)
  expect(offers.accepted).toBeGreaterThan(0) // events came to the server that did not run the turn
  expect([...followers.values()].reduce((sum, [one]) => sum + (one?.decisions ?? 0), 0)).toBeGreaterThan(0)
  const store = await openFolderStore(folder)
  cleanUp.push(() => store.close())
  const replays = createReplays()
  replays.note({ store, tools: [noteTool()] })
  await replays.expectSame()
  expect(replays.count).toBeGreaterThan(CONVERSATIONS)
}, 180_000)

/** How many offers have each outcome. */
async function offersIn(folder: string): Promise<Readonly<Record<string, number>>> {
  const rows = await queryFolder(folder, "SELECT coalesce(outcome, 'open') AS outcome, count(*) AS count FROM offers GROUP BY 1")
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, Number(count)]))
}
