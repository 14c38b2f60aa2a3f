import pg from 'pg'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createPostgresStore } from '../src/adapters/store/postgres/store.ts'
import { fillTitles } from '../src/adapters/store/postgres/titles.ts'
import type { ConversationStore } from '../src/ports/store.ts'
import { result } from '../src/testing/blocks.ts'
import { appended } from '../src/testing/conformance/store-fixture.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { median, report, timed } from './measure.ts'

/** How many conversations the large database has, each with 100 entries. The small one has only those that are measured. */
const LARGE = Number(process.env.SCALE_CONVERSATIONS ?? 100_000)
const SMALL = 200
const ENTRIES = 100
const me = { id: 'bench', host: 'here', pid: process.pid }

/**
 * Compares the work of a store with 100,000 conversations and 10 million entries with the same work of an almost empty one. It takes minutes
 * and about 8 GB of disk, so it runs only if it is named: `npm run bench -- postgres-scale`.
 */
export async function bench(): Promise<void> {
  if (!process.argv.includes('postgres-scale')) return console.log('takes minutes: it runs only if it is named')
  const server = await startPostgres() // not durable, because syncing the disk would hide the rest
  try {
    const stores = { small: await fill(await server.createDatabase(), SMALL), large: await fill(await server.createDatabase(), LARGE) }
    for (const [name, work] of Object.entries(works)) await compare(name, stores, work)
    for (const store of Object.values(stores)) await store.close()
  } finally {
    await server.stop()
  }
}

async function fill(url: string, conversations: number): Promise<ConversationStore> {
  const store = await createPostgresStore({ url, clock: createSystemClock() })
  const client = new pg.Client({ connectionString: url, options: '-c search_path=daybook -c maintenance_work_mem=512MB' })
  await client.connect()
  const took = await timed(async () => {
    await client.query('SET session_replication_role = replica') // does not check the keys of other tables, row by row
    await client.query(
      `INSERT INTO conversations (id, title, started_at, last_activity_at, epoch, last_seq, indexed_seq, next_block)
       SELECT format('t%s/p/u/c%s', n % ${conversations / 100}, n), to_json('Report ' || n || ' about ' || md5(n::text))::text,
         '2026-01-01T00:00:00.000Z', to_char(to_timestamp(1767225600 + n), 'YYYY-MM-DD"T"HH24:MI:SS".000Z"'), n, ${ENTRIES}, ${ENTRIES}, ${ENTRIES + 1}
       FROM generate_series(1, ${conversations}) AS n`,
    )
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
  return store
}

type Work = (store: ConversationStore, id: string, n: number) => Promise<unknown>

/** What is measured. Each work gets a conversation of its own. */
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
const claims = new Map<ConversationStore, Awaited<ReturnType<ConversationStore['claim']>>>()

async function compare(name: string, stores: Readonly<Record<'small' | 'large', ConversationStore>>, work: Work): Promise<void> {
  const times = { small: [] as number[], large: [] as number[] }
  for (let n = 0; n < 60; n++)
    for (const [size, count] of [
      ['small', SMALL],
      ['large', LARGE],
    ] as const) {
      const number = 1 + ((n * Math.floor(count / 60)) % count)
      times[size].push(await timed(() => work(stores[size], `t${number % (count / 100)}/p/u/c${number}`, n)))
    }
  const floor = median(times.small.slice(10))
  report(`${name} (small: ${floor.toFixed(2)} ms)`, median(times.large.slice(10)) / floor, 2, 'small')
}
