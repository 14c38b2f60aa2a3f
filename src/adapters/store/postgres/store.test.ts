import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { createOlderTables } from '../../../../test/support/postgres-tables.ts'
import type { Change } from '../../../core/timeline/change.ts'
import { prompt } from '../../../testing/blocks.ts'
import { describeBlobs } from '../../../testing/conformance/blobs.ts'
import { accepted, appended, journalOf, owner } from '../../../testing/conformance/store/fixture.ts'
import { watchOffers } from '../../../testing/conformance/store/offers.ts'
import { describeStore } from '../../../testing/conformance/store.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'

import { checkServer } from './database.ts'
import { SCHEMA_VERSION } from './schema/schema.ts'
import { createPostgresStore, migratePostgres } from './store.ts'

describe.skipIf(!hasPostgres)('with a real server', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close())) // the server allows a limited number of connections
  })
  afterAll(() => server?.stop())
  let schemas = 0
  /** Opens a store with tables of its own. */
  async function open(schema = `test_${++schemas}`) {
    const clock = createFixedClock()
    const store = await createPostgresStore({ url: server?.url ?? '', schema, clock, leaseTime: 'clock', maxConnections: 4 })
    opened.push(store)
    return { store, clock, blobs: store.blobs, schema }
  }

  describeStore({ describe, it, expect }, 'the PostgreSQL store', () => open())
  describeBlobs({ describe, it, expect }, 'the PostgreSQL store', async () => (await open()).blobs)

  it('refuses a server that is too old', async () => {
    const answer = async <Row>() => [{ encoding: 'UTF8', read_only: 'off', version: 14 }] as unknown as readonly Row[]
    await expect(checkServer({ statements: { all: answer, run: async () => 0 } })).rejects.toThrow('needs version 15 or newer')
  })

  const event = (id: string, now: string) => ({ event_id: id, kind: 'followup', ts: now, text: id }) as const

  it('tells a watcher about entries that another store has appended, and about a deletion', async () => {
    const { store: mine, schema } = await open()
    const { store: theirs } = await open(schema)
    const told: unknown[] = []
    const claim = await theirs.claim('c1', owner('b'))
    const unwatch = mine.watch('c1', { onWritten: (lastSeq) => void told.push(lastSeq), onError: (error) => void told.push(error) })
    await theirs.append(claim, [appended([prompt('a')])])
    await expect.poll(() => told.at(-1)).toBe(1)
    await theirs.append(claim, [appended([prompt('b')], 2)])
    await theirs.append(claim, [appended([prompt('c')], 3)])
    await expect.poll(() => told.at(-1)).toBe(3)
    await theirs.delete('c1')
    await expect.poll(() => told.at(-1)).toBe(undefined)
    unwatch()
  })

  it('tells a listener about offers of another store, and stores an event once that both offer', async () => {
    const { store: mine, schema, clock } = await open()
    const { store: theirs } = await open(schema)
    const { told, errors, unwatch } = watchOffers(mine)
    const claim = await mine.claim('c1', owner('a'))
    await theirs.offer('c1', event('e1', clock.now()))
    await expect.poll(() => told).toContain('c1')
    expect(await mine.readOffers('c1')).toEqual([event('e1', clock.now())])
    await mine.append(claim, [accepted('e1', 1)], { takes: [{ eventId: 'e1', outcome: 'accepted' }] })
    expect(await theirs.findOffer('c1', 'e1')).toBe('accepted')
    const both = await Promise.all([mine, theirs, mine, theirs].map((store) => store.offer('c1', event('e2', clock.now()))))
    expect(both.filter((result) => result === 'offered')).toHaveLength(1)
    expect(errors).toEqual([])
    unwatch()
  })

  it('goes on after notices that Daybook has not sent', async () => {
    const { store, schema } = await open()
    const { told, errors, unwatch } = watchOffers(store)
    const claim = await store.claim('c1', owner('a'))
    const written: unknown[] = []
    const unwatchEntries = store.watch('c1', {
      onWritten: (lastSeq) => void written.push(lastSeq),
      onError: (error) => void errors.push(error),
    })
    await expect.poll(() => written).toEqual([0])
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    for (const payload of ['', 'x', '[]', 'null', '{"c1":null}', '{"c1":{"lastSeq":"2"}}', '{"c1":[1]}', '{"__proto__":{"offered":1}}'])
      await client.query('SELECT pg_notify($1, $2)', [`daybook_${schema}`, payload])
    await client.query('SELECT pg_notify($1, $2)', [`daybook_${schema}`, '{"c2":{"offered":true}}'])
    await client.end()
    await expect.poll(() => told).toContain('c2')
    await store.append(claim, [appended([prompt('a')])])
    await expect.poll(() => written.at(-1)).toBe(1)
    expect(errors).toEqual([])
    unwatchEntries()
    unwatch()
  })

  it('lets exactly one of many stores claim a free conversation', async () => {
    const { store, schema } = await open()
    const others = await Promise.all([open(schema), open(schema), open(schema)])
    const stores = [store, ...others.map((other) => other.store)]
    const results = await Promise.allSettled(stores.flatMap((each, n) => [0, 1].map((m) => each.claim('c1', owner(`${n}-${m}`)))))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conversation.busy' })
  })

  it('refuses tables of a newer version that it can not use, and changes nothing', async () => {
    const { schema } = await open()
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    await client.query(`UPDATE ${schema}.version SET version = 99, compatible_from = 98`)
    await expect(open(schema)).rejects.toMatchObject({ code: 'store.newer' })
    await client.query(`UPDATE ${schema}.version SET version = 99, compatible_from = 1`)
    await open(schema)
    expect((await client.query(`SELECT version FROM ${schema}.version`)).rows).toEqual([{ version: 99 }])
    await client.end()
  })

  it('can be opened by several processes at once while there are no tables yet', async () => {
    for (let round = 0; round < 5; round++) {
      const schema = `test_${++schemas}`
      const stores = await Promise.all(Array.from({ length: 5 }, () => open(schema)))
      expect(await Promise.all(stores.map(({ store }) => store.head('c1')))).toEqual(stores.map(() => undefined))
    }
  })

  it('uses older tables only after `migratePostgres`, which can run twice and in several processes at once', async () => {
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    const schema = `test_${++schemas}`
    await createOlderTables(client, schema, 1)
    const titled: Change = { type: 'title.set', ts: '2026-01-01T00:00:00.000Z', title: 'Größe \u0000 of it' }
    const changes = [appended([prompt('a')]), titled]
    await client.query(
      `WITH created AS (INSERT INTO conversations (id, title, last_activity_at, last_seq, epoch) VALUES ('c1', $1, $2, 2, 1) RETURNING key)
       INSERT INTO journal SELECT key, entry.* FROM created, unnest($3::int[], $4::text[], $5::text[], $6::text[]) AS entry`,
      [
        ...[JSON.stringify(titled.title), titled.ts],
        ...[[1, 2], changes.map(({ type }) => type), changes.map(() => titled.ts), changes.map((change) => JSON.stringify(change))],
      ],
    )
    await expect(open(schema)).rejects.toMatchObject({ code: 'store.outdated', message: expect.stringContaining('daybook migrate') })
    const options = { url: server?.url ?? '', schema }
    expect(await migratePostgres(options, { dryRun: true })).toEqual({ from: 1, to: SCHEMA_VERSION })
    await expect(open(schema)).rejects.toMatchObject({ code: 'store.outdated' })
    const reports = await Promise.all([1, 2, 3].map(() => migratePostgres(options)))
    expect(reports.filter(({ from, to }) => from !== to)).toEqual([{ from: 1, to: SCHEMA_VERSION }])
    const migrated = await open(schema)
    expect(await journalOf(migrated.store, 'c1')).toHaveLength(2)
    for (const search of ['grösse', 'GRÖSSE', '\u0000', 'öß', 'f i'])
      expect((await migrated.store.list({ search })).conversations).toHaveLength(search === 'grösse' || search === 'GRÖSSE' ? 0 : 1)
    await client.end()
  })

  it('does not load a conversation with a change of a newer version, and passes its entries on', async () => {
    const { store, schema } = await open()
    await store.append(await store.claim('c1', owner('a')), [appended([prompt('a')])])
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    const newer = { type: 'turn.painted', ts: '2026-01-01T00:00:00.000Z', colour: 'blue' }
    await client.query(`INSERT INTO ${schema}.journal SELECT key, 2, $1, $2, $3 FROM ${schema}.conversations`, [
      newer.type,
      newer.ts,
      JSON.stringify(newer),
    ])
    await client.query(`UPDATE ${schema}.conversations SET last_seq = 2, open_turn = '"t1"', lease_expires_at = NULL`)
    await client.end()
    const { store: other } = await open(schema)
    // `store` has written the earlier entries itself, so it checks only the new entry. `other` checks all of them
    for (const each of [store, other])
      await expect(each.claim('c1', owner('a'))).rejects.toMatchObject({ code: 'conversation.newer', details: { seq: 2 } })
    expect(await other.work.claimNext(owner('b'), { maxAttempts: 3 })).toEqual({})
    await other.offer('c2', event('e1', '2026-01-01T00:00:00.000Z'), { create: true })
    expect(await other.work.claimNext(owner('b'), { maxAttempts: 3 })).toMatchObject({ claim: { conversationId: 'c2' } })
    await expect(other.loadVisible('c1')).rejects.toMatchObject({ code: 'conversation.newer', details: { seq: 2, type: newer.type } })
    const passed: unknown[] = []
    for await (const { change } of other.readJournal('c1', { after: 1, passNewer: true })) passed.push(change)
    expect(passed).toEqual([newer])
  })

  it('gives a conversation to one of many owners that claim it at the same time, also a new one', async () => {
    const { store, schema } = await open()
    const { store: other } = await open(schema)
    const claims = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? store : other).claim('c1', owner(`o${n}`)))
    const settled = await Promise.allSettled(claims)
    const claimed = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(claimed).toHaveLength(1)
    expect(settled.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))).toEqual(Array(19).fill('conversation.busy'))
    expect(await other.findOwner('c1', owner('z'))).toMatchObject({ id: claimed[0]?.ownerId })
  })

  it('keeps the connection for notices when listeners come and go', async () => {
    const { store, schema } = await open()
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    const listening = async () => {
      const { rows } = await client.query('SELECT pid FROM pg_stat_activity WHERE query = $1', [`LISTEN daybook_${schema}`])
      return rows.map(({ pid }) => pid as number)
    }
    const listener = { onOffered: () => {}, onError: () => {} }
    const stop = store.watchOffers(listener)
    await expect.poll(listening).toHaveLength(1)
    const before = await listening()
    stop()
    const stopAgain = store.watchOffers(listener)
    expect(await listening()).toEqual(before)
    stopAgain()
    await store.close()
    await expect.poll(listening).toEqual([])
    await client.end()
  })

  it('measures leases by the clock of the server, so that a process with a wrong clock takes no conversation from another', async () => {
    const schema = `test_${++schemas}`
    const openAt = async (start: string) => {
      const store = await createPostgresStore({ url: server?.url ?? '', schema, clock: createFixedClock(start), maxConnections: 2 })
      opened.push(store)
      return store
    }
    const behind = await openAt('2001-01-01T00:00:00.000Z')
    const ahead = await openAt('2099-01-01T00:00:00.000Z')
    for (const [id, first, second] of [['c1', behind, ahead] as const, ['c2', ahead, behind] as const]) {
      const claim = await first.claim(id, owner('a'))
      expect(Math.abs(Date.parse(claim.expiresAt) - Date.now())).toBeLessThan(600_000)
      await expect(second.claim(id, owner('b'))).rejects.toMatchObject({ code: 'conversation.busy' })
      expect(await second.findOwner(id, owner('b'))).toMatchObject({ id: 'a' })
      await first.append(claim, [appended([prompt('a')])])
      await expect(second.delete(id, { owner: owner('b') })).rejects.toMatchObject({ code: 'conversation.busy' })
    }
  })

  it('lists conversations in the same order, whatever the collation of the database is', async () => {
    const url = new URL(server?.url ?? '')
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    await client.query(`CREATE DATABASE icu TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C' ENCODING 'UTF8'`)
    await client.end()
    url.pathname = '/icu'
    const store = await createPostgresStore({ url: url.href, clock: createFixedClock(), leaseTime: 'clock', maxConnections: 2 })
    opened.push(store)
    const names = ['B', 'a', '_', 'ä', 'Z', 'a/b', 'a b', '😀', '\uffee']
    for (const name of names) await store.append(await store.claim(name, owner('a')), [appended([prompt('a')])])
    const inBytes = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    const list = async (query: object) => (await store.list(query)).conversations.map(({ conversationId }) => conversationId)
    expect(await list({})).toEqual(inBytes)
    expect(await list({ prefix: 'a' })).toEqual(['a', 'a b', 'a/b'])
    const { next = '' } = await store.list({ limit: 3 })
    expect(await list({ cursor: next })).toEqual(inBytes.slice(3))
  })

  it('refuses a database that can not store every character', async () => {
    const url = new URL(server?.url ?? '')
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    await client.query(`CREATE DATABASE latin TEMPLATE template0 LOCALE 'C' ENCODING 'LATIN1'`)
    await client.end()
    url.pathname = '/latin'
    const opening = createPostgresStore({ url: url.href, clock: createFixedClock() })
    await expect(opening).rejects.toMatchObject({ code: 'store.failed', message: expect.stringContaining('UTF8') })
  })

  it('rejects a cursor that no list has returned, and finds no blob whose name is no hash', async () => {
    const { store } = await open()
    const cursor = Buffer.from(JSON.stringify({ activity: 'x\0', id: 'x' })).toString('base64url')
    await expect(store.list({ cursor })).rejects.toMatchObject({ code: 'cursor.invalid' })
    expect(await store.blobs.has('x\0')).toBe(false)
    await expect(store.blobs.get('x\0')).rejects.toMatchObject({ code: 'blob.missing' })
  })

  it('repeats work that the server has ended because of another transaction or a lack of connections', async () => {
    const { store, schema } = await open()
    await store.append(await store.claim('c1', owner('a')), [appended([prompt('a')])])
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    for (const code of ['40001', '40P01', '53300', '25006']) {
      await client.query(`CREATE SEQUENCE ${schema}.failures`)
      // the first try fails with this code, and the sequence stays incremented
      await client.query(`CREATE FUNCTION ${schema}.fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('${schema}.failures') = 1 THEN RAISE EXCEPTION 'not now' USING ERRCODE = '${code}'; END IF; RETURN NEW; END $$`)
      await client.query(`CREATE TRIGGER fail BEFORE UPDATE ON ${schema}.conversations FOR EACH ROW EXECUTE FUNCTION ${schema}.fail_once()`)
      const claim = await store.claim('c1', owner('a'))
      await client.query(`ALTER SEQUENCE ${schema}.failures RESTART`)
      const number = (await store.head('c1'))?.lastSeq ?? 0
      expect(await store.append(claim, [appended([prompt('b')], number + 1)])).toMatchObject([{ seq: number + 1 }])
      await client.query(
        `DROP TRIGGER fail ON ${schema}.conversations; DROP FUNCTION ${schema}.fail_once; DROP SEQUENCE ${schema}.failures`,
      )
    }
    await client.end()
  })

  it('carries out many appends with blobs at once with few connections', async () => {
    const schema = `test_${++schemas}`
    const store = await createPostgresStore({ url: server?.url ?? '', schema, clock: createFixedClock(), maxConnections: 2 })
    opened.push(store)
    const names = Array.from({ length: 12 }, (_, index) => `c${index}`)
    const write = async (name: string) => store.append(await store.claim(name, owner('a')), [appended([prompt(`${name} `.repeat(5_000))])])
    expect((await Promise.all(names.map(write))).map((entries) => entries.length)).toEqual(names.map(() => 1))
    expect(await Promise.all(names.map((name) => store.delete(name)))).toEqual(names.map(() => true))
  })

  it('says what is wrong when the server can not be reached', async () => {
    const opening = createPostgresStore({ url: 'postgres://daybook@127.0.0.1:1/postgres', clock: createFixedClock() })
    await expect(opening).rejects.toMatchObject({ code: 'store.failed', message: expect.stringMatching(/^PostgreSQL: .*ECONNREFUSED/) })
  })
})
