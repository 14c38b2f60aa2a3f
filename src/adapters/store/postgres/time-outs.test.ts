import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createCommandLine } from '../../../../test/support/command-line.ts'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import { prompt } from '../../../testing/blocks.ts'
import { appended, journalOf, owner } from '../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { connectionAdvice } from './advice.ts'
import { createPostgresStore, migratePostgres } from './store.ts'

describe.skipIf(!hasPostgres)('a server with time-outs', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()))
  })
  afterAll(() => server?.stop())
  /** The address with settings of the session. A role or the server may also have such settings. */
  const urlWith = (settings: string) => {
    const url = new URL(server?.url ?? '')
    url.searchParams.set('options', settings)
    return url.href
  }
  let schemas = 0
  async function open(settings: string, { schema = `test_${++schemas}`, blobs }: { schema?: string; blobs?: BlobStore } = {}) {
    const clock = createFixedClock()
    const store = await createPostgresStore({ url: urlWith(settings), schema, clock, maxConnections: 2, ...(blobs && { blobs }) })
    opened.push(store)
    return { store, schema, clock }
  }
  async function connect() {
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    opened.push({ close: () => client.end() })
    return client
  }

  it.each(['-c lock_timeout=50', '-c statement_timeout=80'])(
    'repeats what it has rolled back (%s), and stores it once',
    async (settings) => {
      const { store, schema, clock } = await open(settings)
      const claim = await store.claim('c1', owner('a'))
      await store.append(claim, [appended([prompt('a')])])
      const client = await connect()
      const whileLocked = async (work: () => Promise<unknown>) => {
        await client.query('BEGIN')
        await client.query(`SELECT FROM ${schema}.conversations FOR UPDATE`)
        const working = work()
        await sleep(400)
        await client.query('COMMIT')
        await working
      }
      await whileLocked(() => store.append(claim, [appended([prompt('b')], 2)]))
      await whileLocked(() => store.append(claim, [appended([prompt('a long text '.repeat(2_000))], 3)]))
      await whileLocked(() => store.offer('c1', { event_id: 'e1', kind: 'followup', ts: clock.now(), text: 'x' }))
      await whileLocked(() => store.renew(claim))
      await whileLocked(() => store.claim('c1', owner('a')))
      expect(await journalOf(store, 'c1')).toHaveLength(3)
      expect(await store.readOffers('c1')).toHaveLength(1)
      await whileLocked(() => store.delete('c1'))
      expect(await store.head('c1')).toBeUndefined()
    },
  )

  it('repeats an append whose connection was ended while it waited for a service for files', async () => {
    let waits = 1
    const memory = createMemoryBlobs()
    const blobs: BlobStore = {
      ...memory,
      async has(sha256) {
        if (waits-- > 0) await sleep(300)
        return memory.has(sha256)
      },
    }
    const { store } = await open('-c idle_in_transaction_session_timeout=100', { blobs })
    const claim = await store.claim('c1', owner('a'))
    expect(await store.append(claim, [appended([prompt('a long text '.repeat(2_000))])])).toMatchObject([{ seq: 1 }])
    expect(waits).toBeLessThan(0)
    expect(await journalOf(store, 'c1')).toHaveLength(1)
  })

  it('says which time-out has ended the work when it fails again and again', () => {
    for (const [code, name] of Object.entries({
      ...{ '57014': 'statement_timeout', '55P03': 'lock_timeout', '25P03': 'idle_in_transaction_session_timeout' },
      '25P04': 'transaction_timeout',
    }))
      expect(connectionAdvice({ code, message: '' })).toContain(name)
  })

  it('does not end the creation and the migration of tables', async () => {
    const schema = `test_${++schemas}`
    const url = urlWith('-c statement_timeout=100 -c lock_timeout=100')
    const other = await connect()
    await other.query('BEGIN')
    await other.query(`CREATE SCHEMA ${schema}`) // each migration waits for this transaction, longer than the time-outs
    const migrations = Promise.all([1, 2, 3].map(() => migratePostgres({ url, schema })))
    migrations.catch(() => {}) // reported below
    await sleep(500)
    await other.query('ROLLBACK')
    const reports = await migrations
    expect(reports.filter(({ from }) => from === 0)).toHaveLength(1)
  })

  it('a replica that can only be read is refused at once, with what to do', async () => {
    await open('')
    const replica = (await server?.startReplica()) ?? ''
    const opening = createPostgresStore({ url: replica, schema: `test_${schemas}`, clock: createFixedClock() })
    await expect(opening).rejects.toMatchObject({ code: 'store.failed', message: expect.stringContaining('address of the primary server') })
    const line = createCommandLine()
    line.environment.DAYBOOK_DATABASE_URL = replica
    expect((await line.run('doctor')).text).toMatch(/✗ database .*address of the primary server/)
    expect((await line.run('migrate')).text).toContain('address of the primary server')
    line.remove()
    const readOnly = createPostgresStore({ url: urlWith('-c default_transaction_read_only=on'), clock: createFixedClock() })
    await expect(readOnly).rejects.toMatchObject({ code: 'store.failed', message: expect.stringContaining('can only be read') })
  })
})
