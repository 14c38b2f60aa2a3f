import fc from 'fast-check'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../../test/support/postgres.ts'
import { createOlderTables } from '../../../../../test/support/postgres-tables.ts'
import { prompt } from '../../../../testing/blocks.ts'
import { appended, owner } from '../../../../testing/conformance/store/fixture.ts'
import { createSystemClock } from '../../../clock/system.ts'
import { createPostgresStore, migratePostgres } from '../store.ts'
import { SCHEMA_VERSION } from './schema.ts'

describe.skipIf(!hasPostgres)('the tables', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const url = server?.url ?? ''
  const client = new pg.Client({ connectionString: url })
  if (server) await client.connect()
  afterAll(async () => {
    await client.end()
    await server?.stop()
  })

  it('can be migrated from every version, and conversations that were stored before go on', async () => {
    for (let version = 1; version < SCHEMA_VERSION; version++) {
      const schema = `version_${version}`
      await createOlderTables(client, schema, version)
      await client.query(`INSERT INTO conversations (id, epoch, open_turn) VALUES ('a/b/c/d', nextval('claims'), '"t1"')`)
      expect(await migratePostgres({ url, schema })).toEqual({ from: version, to: SCHEMA_VERSION })
      const store = await createPostgresStore({ url, schema, clock: createSystemClock(), maxConnections: 2 })
      const { claim } = await store.work.claimNext(owner('a'), { maxAttempts: 3 })
      expect(claim).toMatchObject({ conversationId: 'a/b/c/d' })
      if (claim) await store.append(claim, [appended([prompt('a')])])
      expect(await store.delete('a/b/c/d')).toBe(true)
      await store.close()
    }
  })

  it('have the same computed columns as the generated columns of version 9', async () => {
    await createOlderTables(client, 'generated', 9)
    await migratePostgres({ url, schema: 'triggers' })
    const anyTime = fc.constantFrom('', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z', '~', 'Z', 'a')
    const nullOr = (weight: number) => fc.oneof({ weight: 5, arbitrary: anyTime }, { weight, arbitrary: fc.constant(null) })
    const [time, rarelyTime] = [nullOr(4), nullOr(19)]
    const columns = {
      ...{ offers: fc.option(fc.integer({ min: 1, max: 3 })), offered_at: time, waits: fc.option(fc.constant('[]')), due_at: time },
      ...{ open_turn: fc.option(fc.constant('"t1"')), waiting: fc.option(fc.constant('["e"]')), lease_expires_at: time, retry_at: time },
      ...{ parked_at: rarelyTime, deleted_at: rarelyTime, last_seq: fc.nat(9) },
    }
    const id = fc.constantFrom('c', 'a/c', 'a/b/c/d', 'a/b/c/d~call_1', 'a~call_1/b/c/d', '//c', '/b/c/', 'ä/B/c/d', '~call_/x')
    const update = fc.record(columns, { requiredKeys: [] })
    let withWork = 0
    let withoutWork = 0
    await fc.assert(
      fc.asyncProperty(id, fc.record(columns, { requiredKeys: [] }), fc.array(update, { maxLength: 3 }), async (id, first, updates) => {
        const stored: unknown[] = []
        for (const schema of ['generated', 'triggers']) {
          const { names, places, values } = partsOf({ id, epoch: 1, ...first })
          await client.query(`INSERT INTO ${schema}.conversations (${names}) VALUES (${places})`, values)
          for (const each of updates.filter((some) => Object.keys(some).length > 0)) {
            const { names, places, values } = partsOf(each)
            await client.query(`UPDATE ${schema}.conversations SET (${names}) = ROW(${places})`, values)
          }
          const sql = `DELETE FROM ${schema}.conversations RETURNING id, folder, tenant, work_at, free_at`
          stored.push((await client.query(sql)).rows)
        }
        expect(stored[1]).toEqual(stored[0])
        const [{ free_at }] = stored[0] as [{ free_at: string | null }]
        if (free_at === null) withoutWork++
        else withWork++
      }),
      { numRuns: 400 },
    )
    expect(Math.min(withWork, withoutWork)).toBeGreaterThan(40)
  })

  it.each([true, false])('are not locked for long by a migration that waits for another transaction (dry run: %s)', async (dryRun) => {
    const schema = `locked_${dryRun}`
    await createOlderTables(client, schema, 9)
    const [report, reader] = [new pg.Client({ connectionString: url, application_name: 'report' }), new pg.Client(url)]
    await Promise.all([report.connect(), reader.connect()])
    await report.query(`BEGIN; SELECT count(*) FROM ${schema}.conversations`)
    const migrated = migratePostgres({ url, schema }, { dryRun }).then(
      () => undefined,
      (error: unknown) => error,
    )
    await expect
      .poll(async () => (await client.query(`SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'`)).rowCount)
      .toBeGreaterThan(0)
    await reader.query(`SET statement_timeout = '10s'`)
    await reader.query(`SELECT count(*) FROM ${schema}.conversations`) // would wait until the end of the report
    const pid = (await report.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid
    expect(await migrated).toMatchObject({
      code: 'store.failed',
      message: expect.stringMatching(new RegExp(`process ${pid} \\(report, idle in transaction, for \\d+ s\\).*run daybook migrate again`)),
    })
    const again = migratePostgres({ url, schema }, { dryRun })
    await new Promise((resolve) => setTimeout(resolve, 2_500)) // the first attempt ends meanwhile
    await report.query('ROLLBACK')
    expect(await again).toEqual({ from: 9, to: SCHEMA_VERSION })
    await Promise.all([report.end(), reader.end()])
  })

  it('are migrated without a deadlock while another process deletes a conversation, which also deletes its offers', async () => {
    const schema = 'in_order'
    await createOlderTables(client, schema, 10)
    await client.query(`INSERT INTO conversations (id, epoch) VALUES ('c1', nextval('claims'))`)
    await client.query(`BEGIN; SET LOCAL lock_timeout = '300ms'; UPDATE conversations SET title = NULL`)
    const migrated = migratePostgres({ url, schema })
    const observer = new pg.Client({ connectionString: url })
    await observer.connect()
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
    await expect.poll(async () => (await observer.query(waiting)).rowCount).toBe(1)
    await observer.end()
    await client.query('DELETE FROM conversations; COMMIT')
    expect(await migrated).toMatchObject({ from: 10 })
  })

  it('remove the index of a conversation with its row', async () => {
    await migratePostgres({ url, schema: 'index_rows' })
    await client.query('SET search_path = pg_catalog') // a search path without the schema of Daybook, as in another program
    await client.query(`INSERT INTO index_rows.conversations (id, epoch) VALUES ('c1', 1), ('c2', 2)`)
    await client.query('INSERT INTO index_rows.blocks SELECT key, 1, 1 FROM index_rows.conversations')
    await client.query(`INSERT INTO index_rows.names SELECT key, 'path', 'x', 1 FROM index_rows.conversations`)
    await client.query(`DELETE FROM index_rows.conversations WHERE id = 'c1'`)
    for (const table of ['blocks', 'names'])
      expect((await client.query(`SELECT id FROM index_rows.${table} JOIN index_rows.conversations ON key = conversation`)).rows).toEqual([
        { id: 'c2' },
      ])
  })
})

/** A row as parts of a statement. */
function partsOf(row: Readonly<Record<string, unknown>>) {
  const names = Object.keys(row)
  return { names: names.join(', '), places: names.map((_, index) => `$${index + 1}`).join(', '), values: Object.values(row) }
}
