import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { minute } from '../../../testing/blocks.ts'
import { opened, owner, waitingTurn } from '../../../testing/conformance/store/fixture.ts'
import { createSystemClock } from '../../clock/system.ts'
import { createPostgresStore } from './store.ts'

describe.skipIf(!hasPostgres)('limits that servers share', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const closers: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    for (const close of closers) await close()
    await server?.stop()
  })

  async function open() {
    const url = (await server?.createDatabase()) ?? ''
    const store = await createPostgresStore({ url, clock: createSystemClock() })
    const { limits } = store
    if (!limits) throw new Error('the store has no limits')
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    closers.push(store.close, () => client.end())
    const query = (sql: string) => client.query(`SET search_path = daybook, public; ${sql}`)
    return { url, store, limits, query }
  }
  const use = (name: string, used: number, perMinute = 60) => ({ name, used, burst: perMinute, perMinute })

  it('a bucket begins full, is shared, gets tokens back with the time of the server, and never has more than its limit', async () => {
    const { limits, query } = await open()
    expect(await limits.take([use('a', 10), use('b', 0)])).toEqual([50, 60])
    const [left = 0] = await limits.take([use('a', 20)])
    expect(left).toBeGreaterThanOrEqual(30)
    expect(left).toBeLessThan(31)
    await query(`UPDATE rate_limits SET at = at - interval '10 seconds'`)
    const [later = 0] = await limits.take([use('a', 0)])
    expect(later).toBeGreaterThanOrEqual(40)
    await query(`UPDATE rate_limits SET at = at - interval '10 hours'`)
    expect(await limits.take([use('a', 0)])).toEqual([60])
    await query(`UPDATE rate_limits SET at = at + interval '10 hours'`) // the clock of the server was set back
    expect(await limits.take([use('a', 1)])).toEqual([59])
  })

  it('a debt is at most one minute of the limit, and a changed limit applies at once', async () => {
    const { limits } = await open()
    expect(await limits.take([use('a', 1_000)])).toEqual([-60])
    const [left = 0] = await limits.take([use('a', 1_000)])
    expect(left).toBe(-60)
    expect(await limits.take([use('b', 0, 1e9)])).toEqual([1e9])
    expect(await limits.take([use('b', 0, 5)])).toEqual([5])
  })

  it('two processes that report many users at the same time do not wait for each other', async () => {
    const { limits } = await open()
    const names = Array.from({ length: 200 }, (_, n) => `u${n}`)
    const rounds = Array.from({ length: 40 }, (_, n) =>
      limits.take((n % 2 === 0 ? names : names.toReversed()).map((name) => use(name, 1, 1_000_000))),
    )
    await Promise.all(rounds)
    for (const left of await limits.take(names.map((name) => use(name, 0, 1_000_000)))) expect(left).toBeLessThanOrEqual(1_000_000)
  })

  it('buckets that are full again are removed, and names are hashed', async () => {
    const { url, limits, query } = await open()
    await limits.take([use('requests acme/web/ann', 1)])
    const stored = async () => await query('SELECT * FROM rate_limits')
    expect(JSON.stringify(await stored())).not.toContain('ann')
    await query(`UPDATE rate_limits SET at = at - interval '1 hour'`)
    const other = await createPostgresStore({ url, clock: createSystemClock() })
    closers.push(other.close)
    await other.limits?.take([use('b', 1)]) // a process removes them with its first report, and then once a minute
    const { rows } = ((await query('SELECT count(*)::int AS count FROM rate_limits')) as unknown as { rows: { count: number }[] }[])[1] ?? {
      rows: [],
    }
    expect(rows).toEqual([{ count: 1 }])
  })

  it('counts conversations whose turns run or wait for a process, by user, and not those that wait for a person or are parked', async () => {
    const { store, limits } = await open()
    const offer = (id: string) => store.offer(id, { event_id: 'e', kind: 'followup', ts: minute(1), text: 'Hi.' }, { create: true })
    for (const id of ['t/p/ann/c1', 't/p/ann/c2', 't/p/bob/c1', 't2/p/ann/c1', 'plain']) await offer(id)
    const running = await store.claim('t/p/ann/c3', owner('a'))
    await store.append(running, [opened('t1')])
    const waits = await store.claim('t/p/ann/c4', owner('a'))
    await store.append(waits, [opened('t1'), waitingTurn('t1', 2, [{ wait_id: 'w1', kind: 'approval', call_id: 'x' }])])
    await store.release(waits)
    expect(await limits.countTurns('t/p/ann/new')).toEqual(
      new Map([
        ['t/p/ann/', 3],
        ['t/p/bob/', 1],
      ]),
    )
    expect(await limits.countTurns('other')).toEqual(new Map([['', 1]]))
    expect((await limits.turnsOf('t/p/ann/new', 10)).toSorted()).toEqual(['t/p/ann/c1', 't/p/ann/c2', 't/p/ann/c3'])
    expect(await limits.turnsOf('t/p/ann/new', 2)).toHaveLength(2)
    expect(await limits.turnsOf('other', 10)).toEqual(['plain'])
    expect(await limits.turnsOf('t/p/zoe/new', 10)).toEqual([])
    expect(await limits.turnsOf('\0', 10)).toEqual([])
  })
})
