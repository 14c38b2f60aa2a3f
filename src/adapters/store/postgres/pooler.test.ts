import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createCommandLine } from '../../../../test/support/command-line.ts'
import { hasPgBouncer, type PoolerOptions, startPgBouncer } from '../../../../test/support/pgbouncer.ts'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { prompt } from '../../../testing/blocks.ts'
import { describeBlobs } from '../../../testing/conformance/blobs.ts'
import { appended, journalOf, owner } from '../../../testing/conformance/store/fixture.ts'
import { describeStore } from '../../../testing/conformance/store.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import type { DatabaseOptions } from './database.ts'
import { inspectTarget } from './move/move.ts'
import { createPostgresStore, migratePostgres } from './store.ts'

/*
 * A pooler in transaction mode gives a client another connection to the server for each transaction. So settings of a session, prepared
 * statements and notices (LISTEN) can not be used, and a connection must be opened without options.
 */
describe.skipIf(!hasPostgres || !hasPgBouncer)('through a connection pooler', async () => {
  const server = hasPostgres && hasPgBouncer ? await startPostgres() : undefined
  const poolers: { stop(): Promise<void> }[] = []
  const opened: { close(): Promise<void> }[] = []
  const startPooler = async (options: PoolerOptions) => {
    const pooler = await startPgBouncer(server?.url ?? '', options)
    poolers.push(pooler)
    return pooler.url
  }
  const urls = server && {
    strict: await startPooler({ mode: 'transaction' }),
    lenient: await startPooler({ mode: 'transaction', size: 2, settings: ['ignore_startup_parameters = options'] }),
    session: await startPooler({ mode: 'session', size: 50 }),
    statement: await startPooler({ mode: 'statement' }),
  }
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
  })
  afterAll(async () => {
    await Promise.all(poolers.map((pooler) => pooler.stop()))
    await server?.stop()
  })
  let schemas = 0
  async function open(url: string | undefined, { schema = `test_${++schemas}`, ...options }: Partial<DatabaseOptions> = {}) {
    const clock = createFixedClock()
    const settings = { url: url ?? '', schema, clock, leaseTime: 'clock' as const, maxConnections: 4, ...options }
    const store = await createPostgresStore(settings)
    opened.push(store)
    return { store, clock, blobs: store.blobs, schema }
  }

  describeStore({ describe, it, expect }, 'the PostgreSQL store behind a pooler', () => open(urls?.strict))

  it.each(['strict', 'lenient', 'session'] as const)('a %s pooler leads to the same tables as the server', async (kind) => {
    const { store, schema } = await open(urls?.[kind])
    await store.append(await store.claim('c1', owner('a')), [appended([prompt('a')])])
    const { store: direct } = await open(server?.url, { schema })
    expect(await journalOf(direct, 'c1')).toHaveLength(1)
    expect(await migratePostgres({ url: urls?.[kind] ?? '', schema })).toMatchObject({ from: expect.any(Number) })
  })

  it('serves many stores with different schemas and statements over few connections', async () => {
    const stores = await Promise.all([1, 2, 3, 4, 5].map(() => open(urls?.lenient)))
    await Promise.all(
      stores.map(async ({ store }, index) => {
        const claim = await store.claim('c1', owner('a'))
        for (let n = 1; n <= 20; n++) {
          await store.append(claim, [appended([prompt(`${index} ${n}`)], n)])
          await store.list({ search: 'x' })
        }
        expect(await journalOf(store, 'c1')).toHaveLength(20)
        expect(JSON.stringify(await journalOf(store, 'c1'))).toContain(`"text":"${index} 20"`)
      }),
    )
  })

  describeBlobs({ describe, it, expect }, 'the PostgreSQL store behind a pooler', async () => (await open(urls?.strict)).blobs)

  /** Watches a conversation and the offers, and returns what the listeners get. */
  function watch(store: ConversationStore) {
    const [written, offered, errors]: [unknown[], string[], unknown[]] = [[], [], []]
    const onError = (error: unknown) => void errors.push(error)
    const unwatch = [
      store.watch('c1', { onWritten: (lastSeq) => void written.push(lastSeq), onError }),
      store.watchOffers({ onOffered: (id) => void offered.push(id), onError }),
    ]
    return {
      written,
      offered,
      errors,
      end: () => {
        for (const each of unwatch) each()
      },
    }
  }

  it.each(['strict', 'lenient', 'session', 'strict, with an address for notices'] as const)(
    'watchers learn of entries (%s)',
    async (kind) => {
      const url = urls?.[kind.split(',')[0] as 'strict']
      const { store, schema } = await open(url, kind.includes('address') && server ? { listenUrl: server.url } : {})
      const { store: other, clock } = await open(urls?.lenient, { schema })
      const { written, offered, errors, end } = watch(store)
      const claim = await other.claim('c1', owner('b'))
      await other.append(claim, [appended([prompt('a')])])
      await expect.poll(() => written.at(-1)).toBe(1)
      await other.offer('c1', { event_id: 'e1', kind: 'followup', ts: clock.now(), text: 'x' })
      await expect.poll(() => offered).toContain('c1')
      expect(errors).toEqual([])
      end()
    },
  )

  it('receives notices over the address for them, and listens nowhere without it', async () => {
    const listeners = async () => {
      const client = new pg.Client({ connectionString: server?.url ?? '' })
      await client.connect()
      const { rows } = await client.query(`SELECT query FROM pg_stat_activity WHERE query LIKE 'LISTEN %'`)
      await client.end()
      return rows.length
    }
    const { store } = await open(urls?.strict)
    const without = watch(store)
    await store.claim('c1', owner('a'))
    await expect.poll(() => without.written.at(-1)).toBe(0)
    expect(await listeners()).toBe(0)
    expect(store.relay).toBeUndefined() // without a relay, a follower in another process gets texts only with their entries
    without.end()
    const { store: listening } = await open(urls?.strict, { listenUrl: server?.url ?? '' })
    const { end } = watch(listening)
    await expect.poll(listeners).toBe(1)
    end()
  })

  it('a pooler in statement mode is refused, with what to do', async () => {
    await expect(open(urls?.statement)).rejects.toMatchObject({
      code: 'store.failed',
      message: expect.stringMatching(/transaction.*pool_mode = transaction/),
    })
  })

  it('prepared statements that were asked for fail with advice, and never run another statement', async () => {
    const { schema } = await open(server?.url)
    const stores = await Promise.allSettled(Array.from({ length: 6 }, () => open(urls?.lenient, { schema, prepare: true })))
    const failed = stores.filter((result) => result.status === 'rejected')
    for (const { reason } of failed) expect(reason).toMatchObject({ message: expect.stringContaining('databasePrepare=off') })
    expect(failed.length).toBeGreaterThan(0) // this PgBouncer does not know prepared statements
  })

  it('a move is refused, because it could not notice a server that uses the pooler', async () => {
    const moving = inspectTarget({ url: urls?.strict ?? '' })
    await expect(moving).rejects.toMatchObject({
      code: 'store.failed',
      message: expect.stringContaining('the address of the server itself'),
    })
  })

  it('options and a name of connections in the address do not lead to other tables', async () => {
    const { store, schema } = await open(server?.url)
    await store.claim('c1', owner('a'))
    const address = new URL(server?.url ?? '')
    address.searchParams.set('options', '-c search_path=public -c statement_timeout=12345')
    address.searchParams.set('application_name', 'mine')
    const { store: same } = await open(address.href, { schema })
    expect(await same.head('c1')).toMatchObject({ conversationId: 'c1' })
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    const { rows } = await client.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'daybook: mine'`)
    await client.end()
    expect(rows.length).toBeGreaterThan(0)
  })

  it('doctor says that there is a pooler, and whether notices arrive', async () => {
    const line = createCommandLine()
    const doctor = async (listenUrl?: string) => {
      Object.assign(line.environment, { DAYBOOK_DATABASE_URL: urls?.strict, DAYBOOK_DATABASE_LISTEN_URL: listenUrl })
      return (await line.run('doctor')).text.split('\n').find((each) => /^. database /.test(each)) ?? ''
    }
    expect(await doctor()).toMatch(/^✓ .* behind a connection pooler/)
    expect(await doctor(server?.url)).toMatch(/^✓ .* behind a connection pooler/)
    expect(await doctor(await server?.createDatabase())).toMatch(/^✗ .* no notifications arrive.*must lead to the same database/)
    line.remove()
  })
})
