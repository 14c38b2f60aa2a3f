import pg from 'pg'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { completionBlock, userPromptBlock } from '../../src/core/block/index.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { appended, closed, opened } from '../../src/testing/conformance/store/fixture.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { median } from '../measure.ts'
import { cpuOfServer } from '../server-time.ts'
import { createVocabulary, dateOf, everything, me, memoryOf, percentile, SEARCHES } from './speed.ts'

const [CONVERSATIONS, TURNS] = [100, 100]
const within = { user: { tenant: 'local', project: 'default', user: 'local' } }

/** The time of a search in 20,000 snippets of one user in PostgreSQL, and the cost of indexing a turn. */
export async function benchPostgres(): Promise<void> {
  const server = await startPostgres({ durable: true })
  const client = new pg.Client({ connectionString: server.url })
  try {
    await client.connect()
    for (const setting of [`checkpoint_timeout = '1d'`, `max_wal_size = '20GB'`]) await client.query(`ALTER SYSTEM SET ${setting}`)
    await client.query('SELECT pg_reload_conf()')
    const store = await createPostgresStore({ url: server.url, clock: createSystemClock() })
    const word = createVocabulary()
    const text = (words: number) => Array.from({ length: words }, word).join(' ')
    const turn = (conversation: number, n: number, words: number): readonly Change[] => {
      const date = dateOf(conversation)
      const blocks = [userPromptBlock(`t${n}`, date, text(20)), completionBlock(`t${n}`, date, { text: text(words) })]
      return [opened(`t${n}`), appended(blocks, 2 * n + 1), closed(`t${n}`)]
    }
    for (let conversation = 0; conversation < CONVERSATIONS; conversation++) {
      const claim = await store.claim(`c${conversation}`, me)
      await store.append(claim, Array.from({ length: TURNS }, (_, n) => turn(conversation, n, 40)).flat())
      await store.release(claim)
    }
    await memoryOf(store).catchUp()
    const { rows } = await client.query<{ bytes: string }>(
      `SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class
       WHERE relkind = 'r' AND relnamespace = 'daybook'::regnamespace AND relname LIKE 'memory_%'`,
    )
    const size = Number(rows[0]?.bytes) / (2 * CONVERSATIONS * TURNS * 1_024)
    console.log(`  PostgreSQL, tables and indexes of the memory index: ${size.toFixed(1)} KB per snippet of 30 words`)
    await benchSearch(store, text)
    await benchIndexing(store, client, (n) => turn(0, TURNS + n, 120))
    await store.close()
  } finally {
    await client.end()
    await server.stop()
  }
}

async function benchSearch(store: ConversationStore, text: (words: number) => string): Promise<void> {
  for (const words of [4, 8]) {
    const times: number[] = []
    for (let n = 0; n < SEARCHES; n++) {
      const question = text(words)
      const started = performance.now()
      await memoryOf(store).search(question, { within, targets: everything, now: dateOf(500), limit: 10, perConversation: 2 })
      times.push(performance.now() - started)
    }
    const p95 = percentile(times, 0.95)
    console.log(
      `  PostgreSQL, a search (${words} words) in ${2 * CONVERSATIONS * TURNS} snippets: p50 ${median(times).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms  (budget 50)  ${p95 <= 50 ? 'ok' : 'OVER'}`,
    )
  }
}

async function benchIndexing(store: ConversationStore, client: pg.Client, turn: (n: number) => readonly Change[]): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const measure = async () => {
    const { rows: found } = await client.query<{ wal: string }>(`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal`)
    return { cpu: cpuOfServer(rows[0]?.pid ?? 0), wal: Number(found[0]?.wal), own: process.cpuUsage() }
  }
  const claim = await store.claim('c0', me)
  const turns = 200
  const [cpu, wal, own, time] = [[0], [0], [0], [0]]
  for (let n = 0; n < turns; n++) {
    await store.append(claim, turn(n))
    const before = await measure()
    const started = performance.now()
    await memoryOf(store).catchUp({ within: { conversationId: 'c0' } })
    time.push(performance.now() - started)
    const after = await measure()
    const { user, system } = process.cpuUsage(before.own)
    cpu.push(after.cpu - before.cpu)
    wal.push(after.wal - before.wal)
    own.push((user + system) / 1_000)
  }
  const perTurn = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / turns
  console.log(
    `  PostgreSQL, indexing a turn of 140 words: ${perTurn(time).toFixed(1)} ms, processor of the server ${perTurn(cpu).toFixed(1)} ms, of the process ${perTurn(own).toFixed(1)} ms, write-ahead log ${(perTurn(wal) / 1024).toFixed(1)} KB`,
  )
}
