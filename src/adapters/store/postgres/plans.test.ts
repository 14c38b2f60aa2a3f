import { type AddressInfo, connect, createServer } from 'node:net'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import type { MemoryFilter } from '../../../ports/store/memory-index.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { completion, minute, prompt, result } from '../../../testing/blocks.ts'
import { appended, closed, compacted, opened, owner, writeConversation } from '../../../testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../../testing/conformance/store/memory.ts'
import { createSystemClock } from '../../clock/system.ts'
import { createPostgresStore } from './store.ts'
import { fillTitles } from './titles.ts'

const CONVERSATIONS = 10_000

/** A proxy in front of a server, and what clients have sent through it. */
async function startProxy(target: URL) {
  const sent: Buffer[] = []
  const proxy = createServer((socket) => {
    const upstream = connect(Number(target.port), target.hostname)
    socket.on('data', (data) => sent.push(data)).pipe(upstream)
    upstream.pipe(socket)
    for (const side of [socket, upstream]) side.on('error', () => side.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((proxy.address() as AddressInfo).port)
  return { url: url.href, sent: () => Buffer.concat(sent).toString('latin1'), stop: () => proxy.close() }
}

describe.skipIf(!hasPostgres)('the plans of queries', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const client = new pg.Client({ connectionString: server?.url ?? '', options: '-c search_path=daybook' })
  const open = () => createPostgresStore({ url: server?.url ?? '', clock: createSystemClock() })
  if (server) {
    await (await open()).close()
    await client.connect()
    await client.query(
      `INSERT INTO conversations (id, title, last_activity_at, epoch, last_seq, open_turn)
       SELECT format('t%s/p/u/c%s', n % 500, n), to_json('Report ' || n)::text, '2026-01-01T00:00:00.' || lpad(n::text, 6, '0') || 'Z', n, 1,
         CASE WHEN n % 1000 = 0 THEN '"t1"' END
       FROM generate_series(1, ${CONVERSATIONS}) AS n`,
    )
    const all = async (sql: string, values: readonly unknown[] = []) => (await client.query(sql, [...values])).rows
    await fillTitles({ all, run: async (sql, values) => (await all(sql, values)).length })
    await client.query('ANALYZE') // the server itself does this after some time
  }
  afterAll(async () => {
    await client.end()
    await server?.stop()
  })

  /** How many rows of tables and entries of indexes a function reads. The server counts them when a connection ends. */
  async function rowsRead(work: (store: ConversationStore) => Promise<unknown>): Promise<number> {
    const counted = async () => {
      await client.query('SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()')
      const { rows } = await client.query(
        `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'daybook')
         + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'daybook') AS count,
         (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'daybook') AS connections`,
      )
      return { count: Number(rows[0].count), connections: Number(rows[0].connections) }
    }
    await expect.poll(async () => (await counted()).connections).toBe(0)
    const before = await counted()
    const store = await open()
    await work(store)
    await store.close()
    await expect.poll(async () => (await counted()).connections).toBe(0)
    return (await counted()).count - before.count
  }

  it('read about as many rows of 10,000 conversations as a page has', async () => {
    const limit = 20
    const queries = [
      { limit },
      { limit, prefix: 't7/p/u/' },
      { limit, top: true as const },
      { limit, open: true as const },
      { limit, waits: true as const },
      { limit, open: true as const, prefix: 't7/p/u/' },
      { limit, search: 'report 7777' },
      { limit, search: 'report' },
      { limit, search: 'nothing has this title' },
      { limit, search: '7', prefix: 't7/p/u/' },
    ]
    for (const query of queries)
      expect({ query, isFew: (await rowsRead((store) => store.list(query))) < 1_000 }).toEqual({ query, isFew: true })
    expect((await (await open()).list({ search: 'REPORT 7777' })).conversations).toHaveLength(1)
  })

  it('an append of a running turn changes no index of conversations', async () => {
    const store = await open()
    const claim = await store.claim('running', owner('a'))
    await store.append(claim, [opened('t1', 1)])
    const updates = async () => {
      const { rows } = await client.query(
        `SELECT n_tup_upd AS all, n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relname = 'conversations'`,
      )
      return { all: Number(rows[0].all), hot: Number(rows[0].hot) }
    }
    await store.close()
    await expect.poll(async () => (await updates()).all).toBeGreaterThan(0)
    const before = await updates()
    const again = await open()
    for (let n = 1; n <= 20; n++) await again.append(claim, [appended([result(`c${n}`, 'done', 't1', n + 1)], n)])
    expect(await again.head('running')).toMatchObject({ lastActivityAt: minute(21), lastSeq: 21 })
    await again.close()
    await expect.poll(async () => (await updates()).all - before.all).toBe(20)
    expect((await updates()).hot - before.hot).toBe(20)
    const last = await open()
    await last.append(claim, [closed('t1', 30)])
    expect((await last.list({ limit: 1 })).conversations).toMatchObject([{ conversationId: 'running', lastActivityAt: minute(30) }])
    await last.close()
  })

  it('read only the visible entries of a long conversation, even if the statistics are older than the conversation', async () => {
    const each = `FROM conversations, generate_series(1, 10) AS seq WHERE id LIKE 't1%'`
    await client.query(`INSERT INTO journal (conversation, seq, type, ts, body) SELECT key, seq, 'x', '', '{}' ${each}`)
    await client.query(`INSERT INTO blocks (conversation, number, seq) SELECT key, seq, seq ${each}`)
    await client.query(`INSERT INTO names (conversation, kind, name_hash, seq) SELECT key, 'call', 'x', seq ${each}`)
    await client.query('ANALYZE')
    for (const table of ['journal', 'blocks', 'names', 'sources']) await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
    const [blocks, visible] = [20_000, 500]
    const store = await open()
    const claim = await store.claim('long', owner('a'))
    for (let n = 0; n < blocks; n += 1_000)
      await store.append(
        claim,
        Array.from({ length: 1_000 }, (_, k) => appended([result(`c${n + k}`, 'done', 't1', 1)], n + k + 1)),
      )
    await store.append(claim, [compacted(`b_${blocks - visible}`, blocks + 1)])
    await store.close()
    for (let attempt = 0; attempt < 8; attempt++) {
      const read = await rowsRead(async (opened) => {
        for (let n = 0; n <= attempt; n++) await opened.loadVisible('long') // a prepared statement may get another plan after some runs
      })
      expect(read / (attempt + 1)).toBeLessThan(3 * visible)
    }
    expect(await rowsRead((opened) => opened.findByCall('long', 'c7'))).toBeLessThan(100)
    expect(await rowsRead((opened) => opened.readTurnLog('long', 'none'))).toBeLessThan(100)
  })

  it('index and search the texts of one user with few rows read, even if there are many other users', async () => {
    const store = await open()
    const ids = Array.from({ length: 4 }, (_, n) => `t7/p/u/said${n}`)
    const turns = (id: string) =>
      [1, 2].flatMap((n) => [
        opened(`t${n}`, n),
        appended([prompt(`the harbour of ${id}`, `t${n}`, n), completion(`stone ${n}`, `t${n}`, n)], 2 * n - 1),
        closed(`t${n}`, n),
      ])
    for (const id of ids) await writeConversation(store, id, turns(id))
    await memoryOf(store).catchUp({ within: { conversationId: ids[0] as string } })
    await store.close()
    const copied = {
      owners: "(folder, next, snippets) SELECT folder || n || '/', next, snippets",
      snippets: `SELECT owner + 1000 * n, number, conversation + 1000000 * n, block, part, memory_snippets.seq, turn, role, ts, path, body, vector`,
      documents: 'SELECT owner + 1000 * n, "group", body',
      postings: 'SELECT owner + 1000 * n, term, chunk, body',
      turns: 'SELECT conversation + 1000000 * n, turn_hash, turn, seq, uses',
    }
    for (const [table, sql] of Object.entries(copied))
      await client.query(`INSERT INTO memory_${table} ${sql} FROM memory_${table}, generate_series(1, 2000) AS n`)
    for (const table of ['snippets', 'postings', 'turns']) await client.query(`ALTER TABLE memory_${table} SET (autovacuum_enabled = off)`)
    const ofUser = { user: { tenant: 't7', project: 'p', user: 'u' } }
    const filter = (fields: Partial<MemoryFilter>) => inConversation('', { within: ofUser, targets: ['user'], limit: 3, ...fields })
    const found: number[] = []
    const search = (fields: Partial<MemoryFilter>) => async (opened: ConversationStore) => {
      const memory = memoryOf(opened)
      found.push((await memory.search('harbour', filter(fields))).length)
    }
    // of the user, 20 other conversations have entries that are not indexed; these entries do not exist
    expect(await rowsRead(search({ within: { conversationId: ids[0] as string } }))).toBeLessThan(200)
    expect(await rowsRead((opened) => memoryOf(opened).catchUp({ within: ofUser }))).toBeLessThan(2_000)
    for (let n = 0; n < 3; n++) expect(await rowsRead(search({}))).toBeLessThan(200)
    expect(await rowsRead((opened) => memoryOf(opened).list({ ...filter({}), order: 'newest' }))).toBeLessThan(200)
    const missing = async (opened: ConversationStore) => {
      const { vectors } = memoryOf(opened)
      await vectors.missing(await vectors.choose({ name: 'm', dimensions: 2 }), 10)
    }
    expect(await rowsRead(missing)).toBeLessThan(100)
    expect(await rowsRead(search({ vector: { model: 1, values: Float32Array.of(1, 0) } }))).toBeLessThan(200)
    expect(found).toEqual([2, 3, 3, 3, 3])
    expect(await rowsRead((opened) => opened.delete(ids[0] as string))).toBeLessThan(1_000)
    expect(await rowsRead(search({}))).toBeLessThan(200)
  })

  it('a turn sends no statement for the memory index', async () => {
    const proxy = await startProxy(new URL(server?.url ?? ''))
    const store = await createPostgresStore({ url: proxy.url, clock: createSystemClock() })
    const claim = await writeConversation(store, 'no statement', [opened('t1', 1), appended([prompt('hello', 't1', 1)], 1)])
    await store.append(claim, [appended([completion('hello', 't1', 2)], 2)])
    await store.append(claim, [closed('t1', 3)])
    const sent = proxy.sent()
    await store.close()
    proxy.stop()
    expect(sent).toContain('INSERT INTO journal')
    expect(sent).not.toContain('memory_')
  })

  it('are prepared once per connection, or not at all with `prepare: false`, as some poolers need it', async () => {
    for (const prepare of [true, false]) {
      const proxy = await startProxy(new URL(server?.url ?? ''))
      const store = await createPostgresStore({ url: proxy.url, clock: createSystemClock(), prepare, maxConnections: 1 })
      const claim = await store.claim(`prepared ${prepare}`, owner('a'))
      for (let n = 1; n <= 5; n++) await store.append(claim, [appended([result(`c${n}`, 'done', 't1', n)], n)])
      expect(await store.head(claim.conversationId)).toMatchObject({ lastSeq: 5 })
      await store.close()
      proxy.stop()
      expect(proxy.sent().match(/INSERT INTO journal/g)).toHaveLength(prepare ? 1 : 5)
      expect(/daybook_[0-9a-f]{32}/.test(proxy.sent())).toBe(prepare)
    }
  })

  it('claim a conversation with few rows read, even if many conversations of a tenant have work', async () => {
    await client.query(`UPDATE conversations SET offers = 1, offered_at = '2026-01-01' WHERE id LIKE 't1/%' OR id LIKE 't2/%'`)
    await client.query('VACUUM ANALYZE conversations')
    const claim = (store: ConversationStore) => store.work.claimNext(owner('w'), { maxAttempts: 3, runningPerTenant: 5 })
    expect(await rowsRead(claim)).toBeLessThan(120)
  })

  it('claim a conversation with few rows read, even if another tenant has sent many messages before', async () => {
    await client.query('UPDATE conversations SET offers = NULL, open_turn = NULL')
    await client.query('VACUUM ANALYZE conversations') // the server does not know yet that there is a tenant with many conversations
    await client.query(
      `INSERT INTO conversations (id, epoch, last_seq, offers, offered_at)
       SELECT format('flood/p/u/c%s', n), 1, 0, 1, '2026-01-01' FROM generate_series(1, 5000) AS n
       UNION ALL SELECT 'quiet/p/u/c1', 1, 0, 1, '2026-01-02'`,
    )
    await client.query(`INSERT INTO tenants VALUES ('flood', 2), ('quiet', 1)`)
    const limits = { maxAttempts: 3 }
    const claimed: (string | undefined)[] = []
    const claim = async (store: ConversationStore) => {
      const { claim: next } = await store.work.claimNext(owner('w'), { ...limits, leftOut: claimed.length === 0 ? [] : ['flood'] })
      claimed.push(next?.conversationId)
    }
    expect(await rowsRead(claim)).toBeLessThan(120)
    expect(await rowsRead(claim)).toBeLessThan(120) // at this point, a conversation of the quiet tenant runs
    expect(await rowsRead((store) => store.work.backlog('quiet/p/u/c2', 100))).toBeLessThan(120)
    expect(claimed).toEqual(['quiet/p/u/c1', undefined])
  })

  it('claim a turn that a dead process left before the many messages of its tenant that came earlier, with few rows read', async () => {
    await client.query(
      `INSERT INTO conversations (id, epoch, last_seq, offers, offered_at)
       SELECT format('busy/p/u/c%s', n), 1, 0, 1, '2026-01-01' FROM generate_series(1, 5000) AS n`,
    )
    await client.query(
      `INSERT INTO conversations (id, epoch, last_seq, open_turn, owner_id, owner_host, owner_pid, lease_expires_at)
       SELECT 'busy/p/u/' || id, 1, 0, '"t1"', 'dead', 'elsewhere', 1, expires_at
       FROM (VALUES ('dead', '2026-01-02T00:00:00.000Z'), ('alive', '2999-01-01T00:00:00.000Z')) AS leases (id, expires_at)`,
    )
    const claimed: (string | undefined)[] = []
    const claim = async (store: ConversationStore) => {
      const { claim: next } = await store.work.claimNext(owner('w'), { maxAttempts: 3, leftOut: ['flood', 'quiet'] })
      claimed.push(next?.conversationId)
    }
    expect(await rowsRead(claim)).toBeLessThan(120)
    expect(await rowsRead(claim)).toBeLessThan(120)
    expect(claimed).toEqual(['busy/p/u/dead', expect.stringMatching(/^busy\/p\/u\/c\d+$/)])
  })

  it('count the running conversations of a tenant with few rows read, even if many of its turns wait for a later time', async () => {
    await client.query(
      `INSERT INTO conversations (id, epoch, last_seq, open_turn, waits, due_at)
       SELECT format('later/p/u/c%s', n), 1, 0, '"t1"', '[]', '2999-01-01T00:00:00.000Z' FROM generate_series(1, 5000) AS n`,
    )
    await client.query(
      `INSERT INTO conversations (id, epoch, last_seq, offers, offered_at)
       SELECT format('later/p/u/new%s', n), 1, 0, 1, '2026-01-01' FROM generate_series(1, 3) AS n`,
    )
    const claimed: (string | undefined)[] = []
    const claim = async (store: ConversationStore) => {
      const limits = { maxAttempts: 3, runningPerTenant: 2, leftOut: ['flood', 'quiet', 'busy'] }
      claimed.push((await store.work.claimNext(owner('w'), limits)).claim?.conversationId)
    }
    for (let n = 0; n < 3; n++) expect(await rowsRead(claim)).toBeLessThan(120)
    expect(claimed).toEqual(['later/p/u/new1', 'later/p/u/new2', undefined])
  })
})
