import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { partitionTables } from '../../../../../test/support/partitioned-tables.ts'
import { hasPostgres, startPostgres } from '../../../../../test/support/postgres.ts'
import { prompt } from '../../../../testing/blocks.ts'
import { appended, journalOf, owner } from '../../../../testing/conformance/store/fixture.ts'
import { describeStore } from '../../../../testing/conformance/store.ts'
import { createFixedClock } from '../../../../testing/fixed-clock.ts'
import { createPostgresStore, migratePostgres } from '../store.ts'

describe.skipIf(!hasPostgres)('tables that are partitioned by conversation', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const url = server?.url ?? ''
  const client = new pg.Client({ connectionString: url })
  if (server) await client.connect()
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
  })
  afterAll(async () => {
    await client.end()
    await server?.stop()
  })
  let schemas = 0

  async function open(schema: string) {
    const clock = createFixedClock()
    const store = await createPostgresStore({ url, schema, clock, leaseTime: 'clock', maxConnections: 4 })
    opened.push(store)
    return { store, clock, blobs: store.blobs }
  }

  async function openPartitioned() {
    const schema = `partitioned_${++schemas}`
    await migratePostgres({ url, schema })
    await partitionTables(client, schema)
    return open(schema)
  }

  describeStore({ describe, it, expect }, 'the PostgreSQL store with partitioned tables', openPartitioned, { hasMemory: false })

  it('can replace the tables of an installation that has conversations', async () => {
    const schema = 'used'
    const { store } = await open(schema)
    for (const id of ['c1', 'c2', 'c3', 'c4']) {
      const claim = await store.claim(id, owner('a'))
      await store.append(claim, [appended([prompt(id)])])
      await store.release(claim)
      await store.offer(id, { event_id: 'e1', kind: 'followup', ts: '2026-01-01T00:00:00.000Z', text: id })
    }
    const before = await journalOf(store, 'c3')
    await opened.pop()?.close()
    await partitionTables(client, schema)
    const { store: after } = await open(schema)
    expect(await journalOf(after, 'c3')).toEqual(before)
    expect(await after.offer('c3', { event_id: 'e2', kind: 'followup', ts: '2026-01-01T00:00:00.000Z', text: 'again' })).toBe('offered')
    expect((await after.readOffers('c3')).map(({ event_id }) => event_id)).toEqual(['e1', 'e2'])
    const { rows } = await client.query(`SELECT count(DISTINCT tableoid)::int AS partitions FROM ${schema}.journal`)
    expect(rows[0].partitions).toBeGreaterThan(1)
  })
})
