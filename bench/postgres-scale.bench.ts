import pg from 'pg'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createPostgresStore, migratePostgres } from '../src/adapters/store/postgres/store.ts'
import { fillTitles } from '../src/adapters/store/postgres/titles.ts'
import type { ConversationStore } from '../src/ports/store.ts'
import { result } from '../src/testing/blocks.ts'
import { appended } from '../src/testing/conformance/store/fixture.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { median, report, timed } from './measure.ts'

/**
 * How many conversations the large database has, each with 100 entries. The small database has only the conversations that are measured.
 */
const LARGE = Number(process.env.SCALE_CONVERSATIONS ?? 100_000)
const SMALL = 200
const ENTRIES = 100
const RUNS = 60
const me = { id: 'bench', host: 'here', pid: process.pid }

/**
 * Compares a store that has 100,000 conversations and 10 million entries with an almost empty store. This takes minutes and about 8 GB of
 * disk, so this bench runs only if it is named: `npm run bench -- postgres-scale`. With `--keep=FOLDER`, the large database stays in that
 * folder, and the next run with this folder uses it again.
 */
export async function bench(options: readonly string[]): Promise<void> {
  if (!process.argv.includes('postgres-scale')) return console.log('takes minutes: it runs only if it is named')
  const keptIn = options.find((option) => option.startsWith('--keep='))?.slice('--keep='.length)
  // the database is not durable: otherwise the time for syncing the disk would be the largest part of each number
  const server = await startPostgres(keptIn === undefined ? {} : { keptIn })
  try {
    const stores = { small: await open(server.url, 'small', SMALL), large: await open(server.url, `large_${LARGE}`, LARGE) }
    await readOnce(stores)
    for (const [name, work] of Object.entries(works)) await compare(name, stores, work)
    for (const store of Object.values(stores)) await store.close()
  } finally {
    await server.stop()
  }
}

/** Opens the store of a database. The small database is always made anew. The large database is made only if no earlier run has kept it. */
async function open(server: string, name: string, conversations: number): Promise<ConversationStore> {
  const url = server.replace(/[^/]+$/, name)
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    if (name === 'small') await client.query('DROP DATABASE IF EXISTS small WITH (FORCE)')
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (found.rowCount !== 0) {
      await migratePostgres({ url })
      return await createPostgresStore({ url, clock: createSystemClock() })
    }
    // the database has this name until it is complete, so that the next run makes it again if this run ends early
    const unfinished = `${name}_unfinished`
    await client.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${unfinished}`)
    await fill(server.replace(/[^/]+$/, unfinished), conversations)
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`)
    return await createPostgresStore({ url, clock: createSystemClock() })
  } finally {
    await client.end()
  }
}

async function fill(url: string, conversations: number): Promise<void> {
  await (await createPostgresStore({ url, clock: createSystemClock() })).close() // makes the tables
  const client = new pg.Client({ connectionString: url, options: '-c search_path=daybook -c maintenance_work_mem=512MB' })
  await client.connect()
  const took = await timed(async () => {
    await client.query(
      `INSERT INTO conversations (id, title, started_at, last_activity_at, epoch, last_seq, indexed_seq, next_block)
       SELECT format('t%s/p/u/c%s', n % ${conversations / 100}, n), to_json('Report ' || n || ' about ' || md5(n::text))::text,
         '2026-01-01T00:00:00.000Z', to_char(to_timestamp(1767225600 + n), 'YYYY-MM-DD"T"HH24:MI:SS".000Z"'), n, ${ENTRIES}, ${ENTRIES}, ${ENTRIES + 1}
       FROM generate_series(1, ${conversations}) AS n`,
    )
    await client.query('INSERT INTO memory_progress (conversation, seq) SELECT key, last_seq FROM conversations')
    await client.query('TRUNCATE memory_behind')
    await client.query('SET session_replication_role = replica') // turns off the row by row check of foreign keys
    const blocks = `format('{"type":"blocks.appended","blocks":[{"id":"b_%s","type":"react.tool.result","author":"react","turn_id":"t1",
      "ts":"2026-01-01T00:00:00.000Z","path":"tc:t1.c%s.result","call_id":"c%s","text":"%s"}]}', seq, seq, seq, md5((key * 1000 + seq)::text))`
    const each = `FROM conversations, generate_series(1, ${ENTRIES}) AS seq`
    await client.query(
      `INSERT INTO journal (conversation, seq, type, ts, body) SELECT key, seq, 'blocks.appended', '2026-01-01T00:00:00.000Z', ${blocks} ${each}`,
    )
    await client.query(`INSERT INTO blocks (conversation, number, seq) SELECT key, seq, seq ${each}`)
    await client.query(
      `INSERT INTO names (conversation, kind, name_hash, seq) SELECT key, 'call', sha256(to_json('c' || seq)::text::bytea), seq ${each}`,
    )
    const all = async (sql: string, values: readonly unknown[] = []) => (await client.query(sql, [...values])).rows
    await fillTitles({ all, run: async (sql, values) => (await all(sql, values)).length })
    await client.query('VACUUM ANALYZE')
    await client.query('CHECKPOINT')
  })
  await client.end()
  console.log(`${conversations} conversations with ${conversations * ENTRIES} entries were made in ${(took / 1000).toFixed(0)} s`)
}

type Work = (store: ConversationStore, id: string, n: number) => Promise<unknown>

/** The operations that are measured. Each operation gets a conversation of its own. */
const works: Readonly<Record<string, Work>> = {
  list: (store) => store.list({ limit: 50 }),
  'list of a user': (store, id) => store.list({ limit: 50, prefix: id.slice(0, id.lastIndexOf('/') + 1) }),
  'list of work': (store) => store.list({ limit: 50, open: true }),
  search: (store, id) => store.list({ limit: 50, search: `Report ${id.slice(id.lastIndexOf('c') + 1)} about` }),
  'search without a match': (store) => store.list({ limit: 50, search: 'no title has this text' }),
  claim: async (store, id) => store.claim(id, me, { takeOver: 'always' }),
  load: (store, id) => store.loadVisible(id),
  'find by call': (store, id) => store.findByCall(id, 'c50'),
  append: async (store, id, n) => {
    const claim = claims.get(store) ?? (await store.claim(id, me, { takeOver: 'always' }))
    claims.set(store, claim)
    await store.append(claim, [appended([result(`n${n}`, 'done', 't2', n)], ENTRIES + 1 + n)])
  },
  follow: async (store, id) => {
    for await (const _entry of store.readJournal(id, { after: ENTRIES - 5 })) {
      // reads the last entries, as a follower does after a notice
    }
  },
  delete: (store, id) => store.delete(id),
}
/** Chooses other conversations in each run, because an earlier run has deleted some conversations of a kept database. */
const first = Math.floor(Date.now() / 1000)
const claims = new Map<ConversationStore, Awaited<ReturnType<ConversationStore['claim']>>>()

const numberOf = (n: number, count: number) => 1 + n * Math.floor(count / RUNS) + (first % Math.floor(count / RUNS))
const idOf = (number: number, count: number) => `t${number % (count / 100)}/p/u/c${number}`

/**
 * Reads each of the measured conversations once before the measurement. Otherwise the numbers of the store that is measured first would
 * include reading from the disk.
 */
async function readOnce(stores: Readonly<Record<'small' | 'large', ConversationStore>>): Promise<void> {
  for (let n = 0; n < RUNS; n++)
    for (const [store, count] of [[stores.small, SMALL] as const, [stores.large, LARGE] as const]) {
      const id = idOf(numberOf(n, count), count)
      await store.list({ limit: 50, search: `Report ${numberOf(n, count)} about` })
      await store.loadVisible(id)
      for (const call of ['c1', 'c50', 'c99']) await store.findByCall(id, call)
    }
}

async function compare(name: string, stores: Readonly<Record<'small' | 'large', ConversationStore>>, work: Work): Promise<void> {
  const times = { small: [] as number[], large: [] as number[] }
  for (let n = 0; n < RUNS; n++)
    for (const [size, count] of [
      ['small', SMALL],
      ['large', LARGE],
    ] as const) {
      times[size].push(await timed(() => work(stores[size], idOf(numberOf(n, count), count), n)))
    }
  const floor = median(times.small.slice(10))
  report(`${name} (small: ${floor.toFixed(2)} ms)`, median(times.large.slice(10)) / floor, 2, 'small')
}
