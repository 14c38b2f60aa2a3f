import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { owner } from '../../src/testing/conformance/store/fixture.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { createDatabaseFolder, openStoreIn } from './children.ts'

const ROUNDS = 12
const CONVERSATIONS = 5

function startChild(place: string, blobs: string) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'schedules-child.ts'), place, blobs], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let fired = 0
  child.stdout.on('data', (bytes: Buffer) => {
    for (const line of bytes.toString().split('\n')) fired += Number(line)
  })
  return { child, started: once(child.stdout, 'data'), ended: once(child, 'close'), fired: () => fired }
}

async function addSchedules(store: ConversationStore): Promise<void> {
  for (let n = 0; n < CONVERSATIONS; n++) {
    await store.release(await store.claim(`c${n}`, owner('a')))
    const event = { kind: 'followup', text: 'It is time.' } as const
    await store.schedules?.add(`c${n}`, { scheduleId: 'once', event, at: new Date(Date.now() + n * 600_000).toISOString() })
    for (const every of [600, 3_600])
      await store.schedules?.add(`c${n}`, { scheduleId: `every-${every}`, event, at: new Date().toISOString(), every })
  }
}

/** Kills processes that fire the schedules, and checks the offers. */
async function attack(store: ConversationStore, place: string, blobs = ''): Promise<void> {
  await addSchedules(store)
  let fired = 0
  for (let round = 0; round < ROUNDS; round++) {
    const children = Array.from({ length: 3 }, () => startChild(place, blobs))
    await Promise.all(children.map(({ started }) => started))
    await sleep(Math.random() * 150)
    for (const { child } of children) child.kill('SIGKILL')
    await Promise.all(children.map(({ ended }) => ended))
    fired += children.reduce((sum, child) => sum + child.fired(), 0)
    for (let n = 0; n < CONVERSATIONS; n++) await checkOffers(store, `c${n}`)
  }
  expect(fired).toBeGreaterThan(CONVERSATIONS * 3)
}

async function checkOffers(store: ConversationStore, id: string): Promise<void> {
  const offers = (await store.readOffers(id)).map(({ event_id }) => event_id)
  const counts = new Map((await store.schedules?.list({ conversationId: id }))?.schedules.map((each) => [each.scheduleId, each.fired]))
  expect(offers.filter((event) => event.startsWith('once-')).length).toBe(counts.has('once') ? 0 : 1)
  for (const name of ['every-600', 'every-3600']) {
    const numbers = offers.flatMap((event) => (event.startsWith(`${name}-`) ? [Number(event.slice(name.length + 1))] : []))
    expect(numbers).toEqual(Array.from({ length: counts.get(name) ?? -1 }, (_, index) => index + 1))
  }
  expect(await store.head(id)).toMatchObject({ offers: offers.length })
}

it('loop 17.108: a schedule fires once for each time, even if its processes are killed and their clocks jump: SQLite', async (context) => {
  countAttempts(context, 3 * ROUNDS)
  const place = createDatabaseFolder()
  const store = await openStoreIn(place)
  try {
    await attack(store, place.file, place.blobs)
  } finally {
    await store.close()
    rmSync(place.folder, { recursive: true, force: true })
  }
})

it.skipIf(!hasPostgres)(
  'loop 17.108: a schedule fires once for each time, even if its processes are killed and their clocks jump: PostgreSQL',
  async (context) => {
    countAttempts(context, 3 * ROUNDS)
    const server = await startPostgres()
    const store = await createPostgresStore({ url: server.url, clock: createSystemClock() })
    try {
      await attack(store, server.url)
    } finally {
      await store.close()
      await server.stop()
    }
  },
)
