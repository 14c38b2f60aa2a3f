import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createPostgresStore } from '../src/adapters/store/postgres/store.ts'
import type { ConversationStore } from '../src/ports/store.ts'
import { messageText } from '../test/support/load/load-model.ts'
import type { LoadServerMessage } from '../test/support/load/load-server.ts'
import type { ServerChoices } from '../test/support/load/server-process.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { DATABASE_VARIABLE, folderSchema } from '../test/support/stores.ts'
import { cpuOfServer } from './server-time.ts'

const TURNS = 150
/** A turn of the load model has two rounds: a tool call, and the answer. */
const ROUNDS = 2
const SLOTS = 4
const clock = createSystemClock()

/**
 * Measures what a turn costs a worker and PostgreSQL: processor time, transactions and bytes. The calculations in `docs/scaling.md` use
 * these numbers.
 */
export async function bench(): Promise<void> {
  const server = await startPostgres({ durable: true })
  const folder = mkdtempSync(join(tmpdir(), 'daybook-scaling-'))
  const store = await createPostgresStore({ url: server.url, schema: folderSchema(folder), clock, maxConnections: 5 })
  const script = join(import.meta.dirname, '../test/support/load/load-server.ts')
  const choices: ServerChoices = { role: 'worker', conversations: SLOTS, delayMs: 50 }
  const worker = fork(script, [folder, '0', JSON.stringify(choices)], { env: { ...process.env, [DATABASE_VARIABLE]: server.url } })
  const client = new pg.Client({ connectionString: server.url })
  try {
    await once(worker, 'message')
    await client.connect()
    await runTurns(store, 'first', 20) // after these turns, the worker has loaded all code
    const measureWorker = async () => {
      worker.send('measure')
      const [message] = (await once(worker, 'message')) as [LoadServerMessage]
      return 'cpu' in message ? message.cpu : Number.NaN
    }
    await measureWorker()
    const before = await measureDatabase(client, folderSchema(folder))
    await runTurns(store, 'measured', TURNS)
    const worked = await measureWorker()
    const after = await measureDatabase(client, folderSchema(folder))
    const perTurn = (name: keyof typeof after) => (after[name] - before[name]) / TURNS
    line('processor time of a worker per turn', worked / TURNS, 'ms')
    line('processor time of PostgreSQL per turn', perTurn('cpuMs'), 'ms')
    line('transactions per turn, with reads and claims', perTurn('transactions'), '')
    line('bytes of the write-ahead log per turn', perTurn('walBytes') / 1024, 'KB')
    line('bytes of tables and indexes per stored round', perTurn('tableBytes') / ROUNDS / 1024, 'KB')
  } finally {
    worker.kill('SIGKILL')
    await client.end()
    await store.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runTurns(store: ConversationStore, name: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, n) => `${name}-${n}`)
  for (const id of ids) await store.offer(id, { event_id: id, kind: 'followup', ts: clock.now(), text: messageText(id) }, { create: true })
  for (const id of ids) {
    for (;;) {
      const head = await store.head(id)
      if (head && head.lastSeq > 0 && head.openTurn === null && head.waiting.length === 0 && head.offers === 0) break
      await sleep(100)
    }
  }
}

async function measureDatabase(client: pg.Client, schema: string) {
  await sleep(1_500) // PostgreSQL updates its statistics about once a second
  const { rows } = await client.query<{ transactions: string; wal: string; tables: string; pid: number }>(
    `SELECT xact_commit AS transactions, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal, pg_backend_pid() AS pid,
     (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = $1::regnamespace) AS tables
     FROM pg_stat_database WHERE datname = current_database()`,
    [schema],
  )
  const [row] = rows
  if (!row) throw new Error('PostgreSQL has no statistics of this database')
  return { transactions: Number(row.transactions), walBytes: Number(row.wal), tableBytes: Number(row.tables), cpuMs: cpuOfServer(row.pid) }
}

function line(what: string, value: number, unit: string): void {
  console.log(`${what.padEnd(58)} ${value.toFixed(1).padStart(8)} ${unit}`.trimEnd())
}
