import pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { startPostgresProxy } from '../../../../test/support/postgres-proxy.ts'
import { startSilentProxy } from '../../../../test/support/silent-proxy.ts'
import { prompt } from '../../../testing/blocks.ts'
import { appended, owner } from '../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import type { Database } from './database.ts'
import { createNoticeReceiver } from './notices.ts'
import { createPostgresStore } from './store.ts'

describe.skipIf(!hasPostgres)('with a real server', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const url = server?.url ?? ''
  afterAll(() => server?.stop())

  it('opens another connection if one becomes silent while it is opened', async () => {
    const proxy = await startPostgresProxy(url)
    const clock = createFixedClock()
    const store = await createPostgresStore({ url, listenUrl: proxy.url, schema: 'opening', clock, maxConnections: 2 })
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    const listening = async () => (await admin.query(`SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN daybook_opening'`)).rows.length
    proxy.freezeAt('LISTEN')
    store.watch('c1', { onWritten: () => {}, onError: () => {} })
    await expect.poll(() => proxy.state.isFrozen).toBe(true)
    expect(await listening()).toBe(0)
    await expect.poll(listening).toBe(1)
    await Promise.all([store.close(), admin.end()])
    await proxy.close()
  })

  it('replaces a connection for notices that was dropped silently, and finds what was written meanwhile', async () => {
    const proxy = await startSilentProxy(url)
    const clock = createFixedClock()
    const writer = await createPostgresStore({ url, clock, leaseTime: 'clock', maxConnections: 2 })
    const reader = await createPostgresStore({ url, listenUrl: proxy.url, clock, leaseTime: 'clock', maxConnections: 2 })
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    const listening = async () => {
      const { rows } = await admin.query(`SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %'`)
      return rows.map(({ pid }) => pid as number)
    }
    const told: unknown[] = []
    const claim = await writer.claim('c1', owner('a'))
    reader.watch('c1', { onWritten: (lastSeq) => void told.push(lastSeq), onError: (error) => void told.push(error) })
    await expect.poll(() => told).toEqual([0])
    await expect.poll(listening).toHaveLength(1)
    const [before] = await listening()
    proxy.drop()
    await admin.query('SELECT pg_terminate_backend($1)', [before]) // the server has noticed, and this process has not
    await writer.append(claim, [appended([prompt('a')])])
    await expect.poll(listening).toHaveLength(1)
    await expect.poll(() => told.at(-1)).toBe(1)
    // notices arrive again: nine entries in a row are told much sooner than the sweeps would find them
    const start = performance.now()
    for (let seq = 2; seq <= 10; seq++) {
      await writer.append(claim, [appended([prompt('b')], seq)])
      await expect.poll(() => told.at(-1), { interval: 5 }).toBe(seq)
    }
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(told).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    await Promise.all([writer.close(), reader.close(), admin.end()])
    await proxy.close()
  })
})

/** A database of which the test decides whether notifications arrive. */
function createFakeDatabase() {
  const state = { arrives: true, sends: true, opened: 0, closed: 0, probes: 0 }
  let receive: (payload: string) => void = () => {}
  const database = {
    canListen: true,
    async listen(onNotice: typeof receive) {
      state.opened++
      receive = onNotice
      return {
        notify: async () => {},
        async close() {
          state.closed++
        },
      }
    },
    async notify(payload: string) {
      if (!state.sends) throw new Error('no connection')
      state.probes++
      if (state.arrives) receive(payload)
    },
  }
  return { state, database: database as unknown as Database, send: (payload: string) => receive(payload) }
}

describe('checking that notifications arrive', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())
  const minute = () => vi.advanceTimersByTimeAsync(60_000)

  /** Starts to receive, and waits until the connection is open. */
  async function start() {
    const fake = createFakeDatabase()
    const received: string[] = []
    let opened = 0
    const receiver = createNoticeReceiver(
      fake.database,
      (payload) => void received.push(payload),
      () => void opened++,
    )
    receiver.start()
    await vi.advanceTimersByTimeAsync(0)
    return { ...fake, receiver, received, opened: () => opened }
  }

  it('keeps a connection over which notifications arrive, and sends one itself only when it is silent', async () => {
    const { state, receiver, send } = await start()
    expect(receiver.hasNotices).toBe(true)
    await minute()
    expect(state).toMatchObject({ opened: 1, closed: 0 })
    expect(state.probes).toBeLessThanOrEqual(11)
    const before = state.probes
    for (let second = 0; second < 60; second++) {
      send('{"c1":{"lastSeq":1}}')
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(state).toMatchObject({ opened: 1, closed: 0, probes: before })
    receiver.stop()
    await minute()
    expect(state).toMatchObject({ opened: 1, closed: 1, probes: before })
  })

  it('replaces a silent connection within 10 seconds', async () => {
    const { state, receiver, opened } = await start()
    await minute()
    state.arrives = false
    await vi.advanceTimersByTimeAsync(9_500)
    expect(receiver.hasNotices).toBe(false)
    state.arrives = true
    await vi.advanceTimersByTimeAsync(10_000)
    expect(receiver.hasNotices).toBe(true)
    expect(opened()).toBe(state.opened)
    expect(state.closed).toBe(state.opened - 1)
    receiver.stop()
  })

  it('tries more and more rarely if notifications never arrive', async () => {
    const { state, receiver } = await start()
    state.arrives = false
    for (let minutes = 0; minutes < 60; minutes++) await minute()
    expect(state.opened).toBeGreaterThan(20)
    expect(state.opened).toBeLessThan(70)
    expect(receiver.hasNotices).toBe(false)
    receiver.stop()
  })

  it('keeps the connection while this process can not send, because this says nothing about the connection', async () => {
    const { state, receiver } = await start()
    state.sends = false
    await minute()
    expect(state).toMatchObject({ opened: 1, closed: 0 })
    receiver.stop()
  })
})
