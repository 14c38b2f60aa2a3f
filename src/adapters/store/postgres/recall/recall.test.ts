import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../../test/support/postgres.ts'
import { createOlderTables } from '../../../../../test/support/postgres-tables.ts'
import type { MemoryFilter } from '../../../../ports/store/memory-index.ts'
import type { ConversationStore } from '../../../../ports/store.ts'
import { completion, minute, prompt } from '../../../../testing/blocks.ts'
import { appended, closed, compacted, opened, owner, writeConversation } from '../../../../testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../../../testing/conformance/store/memory.ts'
import { createSystemClock } from '../../../clock/system.ts'
import { createPostgresStore, migratePostgres } from '../store.ts'

describe.skipIf(!hasPostgres)('the memory index in PostgreSQL', async () => {
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

  const tables = async (schema: string): Promise<Record<string, number>> => {
    const found = await client.query(
      "SELECT table_name FROM information_schema.tables WHERE table_schema = $1 AND table_name LIKE 'memory_%'",
      [schema],
    )
    const counts: Record<string, number> = {}
    for (const { table_name: name } of found.rows) {
      const rows = Number((await client.query(`SELECT count(*) FROM ${schema}.${name}`)).rows[0].count)
      if (rows > 0) counts[name] = rows
    }
    return counts
  }

  it('an append does not wait while another process indexes', async () => {
    const store = await open('waiting')
    await writeConversation(store, 'acme/web/ann/c0', turn('a harbour'))
    await memoryOf(store).catchUp()
    const indexing = new pg.Client({ connectionString: url, options: '-c search_path=waiting' })
    await indexing.connect()
    const locked = 'memory_owners, memory_snippets, memory_documents, memory_postings, memory_turns, memory_progress'
    await indexing.query(`BEGIN; LOCK TABLE ${locked} IN ACCESS EXCLUSIVE MODE; DELETE FROM memory_behind`)
    const claim = await writeConversation(store, 'acme/web/ann/c1', turn('a bridge'))
    for (const each of turn('a river', 2)) await store.append(claim, [each])
    await store.release(claim)
    await indexing.query('ROLLBACK')
    await indexing.end()
    expect(await search(store, 'river bridge harbour')).toHaveLength(3)
  })

  it('a search that waits for another process uses the texts that are indexed after its time limit', async () => {
    const store = await open('limited')
    await writeConversation(store, 'acme/web/ann/c1', turn('a harbour'))
    expect(await search(store, 'harbour lantern')).toEqual(['a harbour'])
    const indexing = new pg.Client({ connectionString: url, options: '-c search_path=limited' })
    await indexing.connect()
    await writeConversation(store, 'acme/web/ann/c2', turn('a lantern'))
    await indexing.query('BEGIN; SELECT * FROM memory_progress FOR UPDATE; LOCK TABLE memory_turns IN SHARE MODE')
    const started = performance.now()
    expect(await search(store, 'harbour lantern', { signal: AbortSignal.timeout(200) })).toEqual(['a harbour'])
    expect(performance.now() - started).toBeGreaterThan(190)
    await indexing.query('ROLLBACK')
    await indexing.end()
    expect((await search(store, 'harbour lantern')).sort()).toEqual(['a harbour', 'a lantern'])
  })

  /** The content of the index, without the numbers that depend on the order of the writes. */
  async function contentOf(schema: string) {
    const read = async (sql: string) =>
      ((await client.query(`SET search_path = ${schema}; ${sql}`)) as unknown as pg.QueryResult[])[1]?.rows
    return {
      snippets: await read(`SELECT id, block, part, s.seq, turn, role, ts, path, body FROM memory_snippets AS s
        JOIN conversations ON conversation = key ORDER BY id, block, part`),
      turns: await read('SELECT id, turn, s.seq, uses FROM memory_turns AS s JOIN conversations ON conversation = key ORDER BY id, turn'),
      owners: await read('SELECT folder, next, snippets FROM memory_owners ORDER BY folder'),
      postings: await read('SELECT term, sum(octet_length(body)) AS bytes FROM memory_postings GROUP BY term ORDER BY term'),
      documents: await read('SELECT sum(octet_length(body)) AS bytes FROM memory_documents'),
      behind: await read('SELECT * FROM memory_behind'),
    }
  }

  async function emptyIndex(schema: string): Promise<void> {
    for (const table of ['owners', 'snippets', 'documents', 'postings', 'turns', 'progress', 'behind'])
      await client.query(`TRUNCATE ${schema}.memory_${table}`)
    await client.query(`INSERT INTO ${schema}.memory_behind SELECT folder, key, last_seq FROM ${schema}.conversations WHERE last_seq > 0`)
  }

  it('several processes that index the same conversations at the same time add each text once', async () => {
    const schema = 'together'
    const processes = [await open(schema), await open(schema), await open(schema), await open(schema)]
    for (let conversation = 0; conversation < 8; conversation++) {
      const turns = Array.from({ length: 60 }, (_, n) => turn(`river ${n} ${'with many words '.repeat(n)}`, n + 1))
      await writeConversation(processes[0] as ConversationStore, `acme/web/ann/c${conversation}`, ...turns)
    }
    await Promise.all([
      ...processes.map((store) => memoryOf(store).catchUp()),
      ...processes.map((store) => memoryOf(store).catchUp({ within: ann })),
      ...processes.map((store) => search(store, 'river')),
    ])
    const content = await contentOf(schema)
    expect(content).toMatchObject({ owners: [{ next: 480, snippets: 480 }], behind: [] })
    await emptyIndex(schema)
    await memoryOf(await open(schema)).catchUp()
    expect(await contentOf(schema)).toEqual(content)
  })

  it('indexing, vectors, retention and deletions at the same time do not wait for each other for ever, and leave the index correct', async () => {
    const schema = 'busy'
    const processes = [await open(schema), await open(schema), await open(schema)] as const
    const [one, two, three] = processes
    const ids = Array.from({ length: 9 }, (_, n) => `acme/web/${n % 2 === 0 ? 'ann' : 'bob'}/c${n}`)
    let isDone = false
    const say = async (id: string) => {
      for (let n = 0; n < 12; n++) {
        const first = (await one.loadVisible(id))?.timeline.nextBlock ?? 1
        const claim = await one.claim(id, owner('a'), { takeOver: 'always' })
        const said = [prompt(`river ${n} ${'with many words '.repeat(n)}`, `t${n}`, n), completion(`stone ${n}`, `t${n}`, n)]
        const compaction = n % 4 === 3 ? [compacted(`b_${first + 1}`, first + 2, `t${n}`, n)] : []
        await one.append(claim, [opened(`t${n}`, n), appended(said, first), ...compaction, closed(`t${n}`, n)])
        await one.release(claim)
        if (n !== 8 || !id.endsWith('4')) continue
        await two.delete(id)
        // the retention of another process may have taken the deletion over
        await expect.poll(async () => (await client.query(`SELECT 1 FROM ${schema}.conversations WHERE id = $1`, [id])).rowCount).toBe(0)
      }
    }
    const repeat = async (work: () => Promise<unknown>) => {
      while (!isDone) await work()
    }
    const model = await memoryOf(two).vectors.choose({ name: 'one', dimensions: 2 })
    const makeVectors = async (store: ConversationStore) => {
      const { vectors } = memoryOf(store)
      const missing = (await vectors.missing(model, 16)) ?? []
      await vectors.save(
        model,
        missing.map((snippet) => ({ owner: snippet.owner, number: snippet.number, vector: Float32Array.of(1, 0) })),
      )
    }
    const others = [
      ...processes.map((store) => repeat(() => memoryOf(store).catchUp())),
      ...[two, three].map((store) => repeat(() => makeVectors(store))),
      repeat(() => search(three, 'river')),
      repeat(() => three.retain({ historyBefore: minute(3) })),
    ]
    try {
      await Promise.all(ids.map(say))
    } finally {
      isDone = true
      await Promise.all(others)
    }
    for (const id of ids.slice(0, 3)) await two.delete(id)
    await memoryOf(one).catchUp()
    const content = await contentOf(schema)
    const { rows } = await client.query('SELECT sum(deadlocks)::int AS deadlocks FROM pg_stat_database')
    expect(rows).toEqual([{ deadlocks: 0 }])
    await emptyIndex(schema)
    await memoryOf(await open(schema)).catchUp()
    // numbers of removed snippets are not used again, and the turns of removed entries stay
    const withoutHistory = ({ owners, documents, turns, ...rest }: Awaited<ReturnType<typeof contentOf>>) => ({
      ...rest,
      owners: owners?.map(({ folder, snippets }) => ({ folder, snippets })),
    })
    expect(withoutHistory(await contentOf(schema))).toEqual(withoutHistory(content))
    expect(content.snippets?.length).toBeGreaterThan(50)
  })

  it('indexes conversations of an older version, and what its processes append after the migration', async () => {
    const schema = 'migrated'
    await createOlderTables(client, schema, 10)
    const bodyOf = (change: object) => JSON.stringify(change)
    const insert = async (id: string, changes: readonly object[]) => {
      const { rows } = await client.query(
        `INSERT INTO ${schema}.conversations (id, last_activity_at, last_seq, epoch) VALUES ($1, $2, 0, nextval('${schema}.claims'))
         ON CONFLICT (id) DO UPDATE SET title = NULL RETURNING key, last_seq`,
        [id, minute(1)],
      )
      const { key, last_seq: last } = rows[0]
      for (const [n, change] of changes.entries())
        await client.query(`INSERT INTO ${schema}.journal VALUES ($1, $2, $3, $4, $5)`, [
          ...[key, last + n + 1, (change as { type: string }).type, minute(1), bodyOf(change)],
        ])
      // older code writes these columns at the end of a turn, and the first of them while a turn runs
      await client.query(`UPDATE ${schema}.conversations SET last_seq = $2, open_turn = NULL WHERE key = $1`, [key, last + changes.length])
    }
    for (let n = 0; n < 3; n++) await insert(`acme/web/ann/c${n}`, turn(`river ${n}`))
    await insert('acme/web/bob/c0', turn('river of Bob'))
    expect(await migratePostgres({ url, schema })).toMatchObject({ from: 10 })
    const store = await open(schema)
    expect(await memoryOf(store).catchUp()).toBe(4)
    expect((await tables(schema)).memory_snippets).toBe(4)
    expect((await tables(schema)).memory_behind).toBe(undefined)
    await insert('acme/web/ann/c1', turn('river 9', 9))
    expect((await search(store, 'river')).sort()).toEqual(['river 0', 'river 1', 'river 2', 'river 9'])
  })

  it('leaves nothing of a conversation that an older version has deleted, or of entries that it has removed', async () => {
    const schema = 'removed'
    const store = await open(schema)
    const changes = [...turn('river one'), ...turn('river two', 2), compacted('b_2', 3, 't3', 9), opened('t4', 9)]
    await store.release(await writeConversation(store, 'acme/web/ann/c1', changes))
    await store.release(await writeConversation(store, 'acme/web/bob/c1', turn('river of Bob')))
    expect((await search(store, 'river', { targets: ['user'] })).sort()).toEqual(['river one', 'river two'])
    await memoryOf(store).catchUp()
    await client.query(
      `DELETE FROM ${schema}.journal WHERE seq <= 3 AND conversation = (SELECT key FROM ${schema}.conversations WHERE id LIKE '%ann%')`,
    )
    await store.retain({ historyBefore: minute(0) })
    expect(await search(store, 'river', { targets: ['user'] })).toEqual(['river two'])
    await client.query(`DELETE FROM ${schema}.journal; DELETE FROM ${schema}.conversations`)
    expect(await tables(schema)).toEqual({})
  })

  it.each(['the conversation that is indexed', 'another conversation of the user'])(
    'leaves nothing of a conversation that an older version deletes while a newer version indexes %s',
    async (indexed) => {
      const schema = indexed.startsWith('another') ? 'deleted_other' : 'deleted_same'
      const store = await open(schema)
      await store.release(await writeConversation(store, 'acme/web/ann/c1', turn('a harbour')))
      if (schema === 'deleted_other') {
        await memoryOf(store).catchUp()
        await store.release(await writeConversation(store, 'acme/web/ann/c2', turn('a lantern')))
      }
      const blocking = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` })
      await blocking.connect()
      await blocking.query('BEGIN; LOCK TABLE memory_progress IN SHARE MODE') // the indexing waits after it has written its snippets
      const waiting = async (event: string) =>
        (await client.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = '${event}'`)).rowCount
      const indexing = memoryOf(store).catchUp()
      await expect.poll(() => waiting('relation')).toBe(1)
      const deleting = client.query(
        `DELETE FROM ${schema}.journal WHERE conversation = (SELECT key FROM ${schema}.conversations WHERE id = 'acme/web/ann/c1');
         DELETE FROM ${schema}.conversations WHERE id = 'acme/web/ann/c1'`,
      )
      await new Promise((resolve) => setTimeout(resolve, 200))
      await blocking.query('COMMIT')
      await Promise.all([indexing, deleting])
      await blocking.end()
      if (schema === 'deleted_same') expect(await tables(schema)).toEqual({})
      else {
        expect(await search(store, 'harbour lantern')).toEqual(['a lantern'])
        expect((await contentOf(schema)).owners).toEqual([{ folder: 'acme/web/ann/', next: 1, snippets: 1 }])
      }
    },
  )

  it('leaves no terms of a conversation that an older version has deleted, and finds the other conversations of its user', async () => {
    const schema = 'dropped'
    const store = await open(schema)
    for (const [id, text] of ['a harbour', 'a lantern', 'a bridge'].entries())
      await store.release(await writeConversation(store, `acme/web/ann/c${id}`, turn(text)))
    await store.release(await writeConversation(store, 'acme/web/ann/c1~call_1', turn('a meadow')))
    const { vectors } = memoryOf(store)
    await memoryOf(store).catchUp()
    const model = await vectors.choose({ name: 'one', dimensions: 2 })
    const missing = (await vectors.missing(model, 9)) ?? []
    await vectors.save(
      model,
      missing.map((snippet) => ({ ...snippet, vector: Float32Array.of(1, 0) })),
    )
    expect((await tables(schema)).memory_vectors).toBe(4)
    await client.query(`DELETE FROM ${schema}.conversations WHERE id = 'acme/web/ann/c0'`)
    expect(await tables(schema)).toMatchObject({ memory_owners: 1, memory_snippets: 1, memory_vectors: 1, memory_behind: 2 })
    expect((await search(store, 'harbour lantern bridge')).sort()).toEqual(['a bridge', 'a lantern'])
    await client.query(`DELETE FROM ${schema}.conversations WHERE id = 'acme/web/ann/c1~call_1'`)
    const content = await contentOf(schema)
    await emptyIndex(schema)
    await memoryOf(store).catchUp()
    expect(content).toEqual(await contentOf(schema))
  })

  it('goes on where a process has died, and finds the texts of a turn that waits', async () => {
    const schema = 'died'
    const dying = await open(schema)
    const claim = await writeConversation(dying, 'acme/web/ann/c1', [opened('t1'), appended([prompt('a river')])])
    await search(dying, 'river')
    await dying.append(claim, [appended([completion('a stone')], 2)])
    await dying.close() // the next second would have indexed nothing, because the turn has not ended
    const store = await open(schema)
    expect(await search(store, 'stone')).toEqual(['a stone'])
    expect((await tables(schema)).memory_behind).toBe(1) // stays while the turn is open
    const next = await store.claim('acme/web/ann/c1', owner('b'), { takeOver: 'always' })
    await store.append(next, [closed('t1', 3)])
    await expect.poll(async () => (await tables(schema)).memory_behind).toBe(undefined)
  })
})
