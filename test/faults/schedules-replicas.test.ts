import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { createClient } from '../../src/client/client.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { messageText } from '../support/load/load-model.ts'
import { advanceClock } from '../support/load/movable-clock.ts'
import { type ServerProcess, startServerProcess } from '../support/load/server-process.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { folderSchema } from '../support/stores.ts'

const KILLS = 9
const MINUTE = 60_000
const conversations = ['c0', 'c1', 'c2', 'c3']

const cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const work of cleanUp.splice(0).reverse()) await work()
})

/** How often each scheduled event was accepted, and how often a turn has read it. */
async function eventsIn(store: ConversationStore, conversationId: string) {
  const accepted: string[] = []
  const read: string[] = []
  for await (const { change } of store.readJournal(conversationId, { after: 0 })) {
    if (change.type === 'event.accepted') accepted.push(change.event.event_id)
    if (change.type === 'event.folded') read.push(...change.event_ids)
  }
  const scheduled = (id: string) => /^(once|often|hourly)-\d+$/.test(id)
  return { accepted: accepted.filter(scheduled).toSorted(), read: read.filter(scheduled).toSorted() }
}

it.skipIf(!hasPostgres)(
  'loop 17.108: three servers that are killed while their clock jumps fire each schedule once for each time',
  async (context) => {
    countAttempts(context, KILLS)
    const postgres = await startPostgres()
    cleanUp.push(postgres.stop)
    const folder = mkdtempSync(join(tmpdir(), 'daybook-schedules-'))
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }))
    const servers: ServerProcess[] = []
    for (let n = 0; n < 3; n++) {
      const server = await startServerProcess(folder, { database: postgres.url, movableClock: true, delayMs: 10 })
      cleanUp.push(server.stop)
      servers.push(server)
    }
    const store = await createPostgresStore({ url: postgres.url, schema: folderSchema(folder), clock: createSystemClock() })
    cleanUp.push(store.close)
    const client = createClient({ baseUrl: servers[0]?.url ?? '' })
    for (const id of conversations) {
      const at = (minutes: number) => new Date(Date.now() + minutes * MINUTE).toISOString()
      const schedule = (schedule_id: string, minutes: number, every?: number) =>
        client.schedule(id, { text: messageText(`${id}-${schedule_id}`), schedule_id, at: at(minutes), ...(every && { every }) })
      await schedule('once', 40)
      await schedule('often', 5, 600)
      await schedule('hourly', 20, 3_600)
    }

    for (let kill = 0; kill < KILLS; kill++) {
      advanceClock(folder, kill % 3 === 2 ? -50 * MINUTE : 45 * MINUTE)
      await sleep(200 + Math.random() * 600)
      await servers[kill % 3]?.restart()
    }
    advanceClock(folder, 120 * MINUTE)
    const firedOnce = async () =>
      (await Promise.all(conversations.map((id) => eventsIn(store, id)))).map(({ read }) => read.includes('once-1'))
    await expect.poll(firedOnce, { timeout: 60_000 }).toEqual(conversations.map(() => true))

    for (const id of conversations) {
      for (const name of ['often', 'hourly']) await client.unschedule(id, name)
      await expect.poll(async () => (await store.head(id))?.offers ?? 0, { timeout: 60_000 }).toBe(0)
      const isRead = async () => {
        const { accepted, read } = await eventsIn(store, id)
        return accepted.length === read.length
      }
      await expect.poll(isRead, { timeout: 60_000 }).toBe(true)
      const { accepted, read } = await eventsIn(store, id)
      expect(read).toEqual([...new Set(accepted)]) // each event was accepted once, and one turn has read it
      expect(accepted.filter((event) => event.startsWith('once-'))).toEqual(['once-1'])
      for (const name of ['often', 'hourly']) {
        const numbers = accepted.flatMap((event) => (event.startsWith(`${name}-`) ? [Number(event.slice(name.length + 1))] : []))
        expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1)) // no number is missing
        expect(numbers.length).toBeGreaterThan(1)
      }
    }
  },
)
