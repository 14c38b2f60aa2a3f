import { hash } from 'node:crypto'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../../test/support/postgres.ts'
import type { MemoryFilter } from '../../../../ports/store/memory-index.ts'
import type { ConversationStore } from '../../../../ports/store.ts'
import { prompt } from '../../../../testing/blocks.ts'
import { appended, closed, opened, writeConversation } from '../../../../testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../../../testing/conformance/store/memory.ts'
import { createSystemClock } from '../../../clock/system.ts'
import { createRowReader } from '../../shared/rows.ts'
import { createPostgresBlobs } from '../blobs/blobs.ts'
import { type Database, openDatabase } from '../database.ts'
import { createReader } from '../journal/read.ts'
import { createPostgresStore } from '../store.ts'
import { createPostgresRecall } from './recall.ts'

describe.skipIf(!hasPostgres)('searches in PostgreSQL', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const url = server?.url ?? ''
  const client = new pg.Client({ connectionString: url })
  if (server) await client.connect()
  const stores: ConversationStore[] = []
  afterAll(async () => {
    for (const store of stores) await store.close()
    await client.end()
    await server?.stop()
  })

  async function open(schema: string): Promise<ConversationStore> {
    const store = await createPostgresStore({ url, schema, clock: createSystemClock(), maxConnections: 3 })
    stores.push(store)
    return store
  }

  const ann = { user: { tenant: 'acme', project: 'web', user: 'ann' } }
  const search = async (store: ConversationStore, question: string, fields: Partial<MemoryFilter> = {}) =>
    (await memoryOf(store).search(question, inConversation('', { within: ann, ...fields }))).map(({ text }) => text)
  const turn = (text: string, n = 1) => [opened(`t${n}`, n), appended([prompt(text, `t${n}`, n)], n), closed(`t${n}`, n)]

  it('of one user that wait for another process leave connections for other work, and find what was appended meanwhile', async () => {
    const store = await open('connections')
    await store.release(await writeConversation(store, 'acme/web/ann/c1', turn('a harbour')))
    const indexing = new pg.Client({ connectionString: url })
    await indexing.connect()
    const lock = hash('sha256', 'memory index acme/web/ann/', 'buffer').readBigInt64BE(0).toString()
    await indexing.query('BEGIN')
    await indexing.query('SELECT pg_advisory_xact_lock($1::bigint)', [lock])
    const limited = Array.from({ length: 6 }, () => search(store, 'harbour', { signal: AbortSignal.timeout(300) }))
    const waiting = search(store, 'harbour')
    await expect.poll(async () => (await client.query(`SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory'`)).rowCount).toBe(1)
    await writeConversation(store, 'other/web/bob/c1', turn('a bridge')) // has to get a connection
    await store.release(await writeConversation(store, 'acme/web/ann/c2', turn('a second harbour')))
    const later = [search(store, 'harbour'), search(store, 'harbour', { within: { conversationId: 'acme/web/ann/c2' } })]
    expect(await Promise.all(limited)).toEqual(limited.map(() => []))
    await indexing.query('ROLLBACK')
    await indexing.end()
    expect(await waiting).toContain('a harbour')
    expect((await Promise.all(later)).map((found) => found.sort())).toEqual([['a harbour', 'a second harbour'], ['a second harbour']])
  })

  it('find the right texts after a crash of the server has undone the last commits of the index', async () => {
    const schema = 'crash'
    const [before, after] = [await open(schema), await open(schema)]
    const [one, two] = ['acme/web/ann/c1', 'acme/web/ann/c2'].map((conversationId) => ({ within: { conversationId } })) as [
      { within: { conversationId: string } },
      { within: { conversationId: string } },
    ]
    await before.release(await writeConversation(before, one.within.conversationId, turn('a harbour')))
    await before.release(await writeConversation(before, two.within.conversationId, turn('a lantern')))
    expect([await search(before, 'harbour', one), await search(before, 'lantern', two)]).toEqual([['a harbour'], ['a lantern']])
    for (const restart of ['RESTART IDENTITY', '']) {
      for (const table of ['snippets', 'documents', 'postings', 'turns', 'progress'])
        await client.query(`TRUNCATE ${schema}.memory_${table}`)
      // without the key of the owner: a crash before the owner was stored. With it: a crash after that
      await client.query(
        restart ? `TRUNCATE ${schema}.memory_owners ${restart}` : `UPDATE ${schema}.memory_owners SET next = 0, snippets = 0`,
      )
      await client.query(`INSERT INTO ${schema}.memory_behind SELECT folder, key, last_seq FROM ${schema}.conversations`)
      const [first, second] = restart ? [two, one] : [one, two] // each time in the other order, so that the numbers are used for other texts
      for (const each of [first, second]) await memoryOf(after).catchUp(each)
      expect(await search(before, 'lantern', one)).toEqual([])
      expect(await search(before, 'lantern', two)).toEqual(['a lantern'])
      expect(await search(before, 'harbour', one)).toEqual(['a harbour'])
      expect((await memoryOf(before).list(inConversation(two.within.conversationId))).map(({ text }) => text)).toEqual(['a lantern'])
    }
  })

  it('find the other conversations of a user when an older version deletes one of them at the same moment', async () => {
    const schema = 'during'
    const store = await open(schema)
    for (const [id, text] of ['a harbour', 'a lantern', 'a bridge'].entries())
      await store.release(await writeConversation(store, `acme/web/ann/c${id}`, turn(text)))
    const database = await openDatabase({ url, schema, maxConnections: 2 })
    let deleted = 0
    const read: Database['read'] = async (work) => {
      // the entries are indexed, and the search has not begun to read the index
      if (deleted < 2) await client.query(`DELETE FROM ${schema}.conversations WHERE id = 'acme/web/ann/c${deleted++}'`)
      return database.read(work)
    }
    const reader = createReader(database, createRowReader(createPostgresBlobs(database)))
    const { index, close } = createPostgresRecall({ ...database, read }, reader)
    const filter = inConversation('', { within: ann })
    expect((await index.search('bridge', filter)).map(({ text }) => text)).toEqual(['a bridge'])
    expect(deleted).toBe(2)
    deleted = 1
    await store.release(await writeConversation(store, 'acme/web/ann/c1', turn('a meadow')))
    expect((await index.list(filter)).map(({ text }) => text)).toEqual(['a bridge'])
    await close()
    await database.close()
  })

  it('find nothing in a scope or in a turn that PostgreSQL can not have', async () => {
    const store = await open('impossible')
    await store.release(await writeConversation(store, 'acme/web/ann/c1', turn('a harbour')))
    for (const within of [
      { conversationId: 'a\0/b' },
      { conversationId: 'a/\0' },
      { user: { tenant: 'a\0', project: 'web', user: 'ann' } },
    ]) {
      expect(await search(store, 'harbour', { within })).toEqual([])
      expect(await memoryOf(store).list(inConversation('', { within }))).toEqual([])
    }
  })
})
