import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import { Failure } from '../../../core/failure.ts'
import { LEASE_MS } from '../../../ports/store.ts'
import { connectionAdvice } from './advice.ts'
import { type Connections, openConnections } from './connections.ts'
import { isConnectionError, READ_ONLY, translateError } from './errors.ts'
import { checkTables, DEFAULT_SCHEMA } from './schema/migrate.ts'

/**
 * How long the process waits for the answer to a statement. A statement of a transaction may read or remove many rows, so it is `later`. A
 * migration may take `any` time.
 */
export type AnswerTime = 'soon' | 'later' | 'any'

/** Options of `openDatabase`. */
export interface DatabaseOptions {
  /** The address of the database, such as `postgres://user:password@host:5432/name`. */
  readonly url: string
  /** The schema that holds the tables. It is created if it does not exist. Default: `daybook`. */
  readonly schema?: string
  /** How many connections are open at most. Default: 10. */
  readonly maxConnections?: number
  /**
   * Whether statements are prepared once per connection. Default: true, but false behind a connection pooler, because few poolers support
   * prepared statements.
   */
  readonly prepare?: boolean
  /**
   * The address at which notifications are received, for a `url` that is the address of a pooler. It must be an address of the same
   * database, without a pooler.
   */
  readonly listenUrl?: string
  /** The name of the connections in the views of the server. Default: `daybook`. */
  readonly applicationName?: string
}

/** Runs statements in one connection. */
export interface Queries {
  /** The rows of a statement. The caller declares their shape. */
  all<Row extends object>(sql: string, values?: readonly unknown[], options?: { readonly prepare?: boolean }): Promise<readonly Row[]>
  /** Returns the number of changed rows. */
  run(sql: string, values?: readonly unknown[]): Promise<number>
}

/** An open connection that receives notifications. */
export interface Listening {
  /** Sends a notification over this connection. A notification has less than 8,000 bytes. */
  notify(channel: string, payload: string): Promise<void>
  close(): Promise<void>
}

/**
 * A PostgreSQL database with the tables of Daybook. If the connection is lost, for example because the server is restarted or does not
 * answer, or if a time-out of the server ends the work, `read`, `all` and `repeat` try again for some seconds. Other functions throw
 * `store.failed` with `connectionLost` in its details. They do not try again, because what they wrote may have been committed.
 */
export interface Database {
  /**
   * Runs `work` in a transaction. The transaction is durable when the promise resolves. If the process sends no statement of the
   * transaction for `idleMs` milliseconds, the server rolls the transaction back. Default: the length of a lease.
   */
  write<T>(work: (queries: Queries) => Promise<T>, idleMs?: number): Promise<T>
  /**
   * Runs `work` in a transaction as `write` does, and runs it again if the connection is lost. The first run may have been committed, so it
   * must be safe to commit `work` twice. `answer` says how long the process waits for the answer to a statement. Default: `later`.
   */
  repeat<T>(work: (queries: Queries) => Promise<T>, idleMs?: number, answer?: AnswerTime): Promise<T>
  /** Runs `work` on one snapshot of the committed data. */
  read<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  /** Runs one statement that only reads. */
  all: Queries['all']
  /** Runs single statements, each of which is a transaction. */
  readonly statements: Queries
  /** Whether a connection pooler is between this process and the server. */
  readonly isPooled: boolean
  /** Whether notifications can be received. Behind a pooler, this needs `listenUrl`. */
  readonly canListen: boolean
  /**
   * Opens a connection that receives notifications of other connections. `onLost` is called when the open connection ends, and not if it
   * could not be opened. Without `channels`, the connection receives the notifications that `notify` sends.
   */
  listen(onNotice: (payload: string) => void, onLost: (error: unknown) => void, channels?: readonly string[]): Promise<Listening>
  /** Sends a notification to all connections that listen. */
  notify(payload: string): Promise<void>
  close(): Promise<void>
}

/**
 * How many milliseconds a process may be idle within a transaction that locks a row which other processes need. A claim with a limit per
 * tenant locks the row of the tenant. An offer locks the row of a conversation that another process may run. If the process is frozen, the
 * other processes wait at most for this time.
 */
export const SHARED_ROW_IDLE_MS = 5_000

/**
 * Opens a database. Tables are created in a schema that has none. Throws `store.outdated` if the tables need `daybook migrate`, and
 * `store.newer` if this version of Daybook can not work with them.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const database = await connectDatabase(options)
  try {
    await checkServer(database)
    await checkTables(database, options.schema ?? DEFAULT_SCHEMA)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** The oldest version of PostgreSQL with which Daybook is tested. */
const OLDEST_SERVER = 15

/**
 * Checks that the database can be used. Conversations may have every character, so a database in another encoding than UTF-8 would reject
 * some entries. A replica would reject every entry, but Daybook would repeat the first append for some time, because a replica may become
 * the primary server.
 */
export async function checkServer({ statements }: Pick<Database, 'statements'>): Promise<void> {
  const [row] = await statements.all<{ encoding: string; read_only: string; version: number }>(
    `SELECT current_setting('server_encoding') AS encoding, current_setting('transaction_read_only') AS read_only,
     current_setting('server_version_num')::int / 10000 AS version`,
  )
  if (row && row.version < OLDEST_SERVER)
    throw new Failure('store.failed', `the database server has PostgreSQL ${row.version}: Daybook needs version ${OLDEST_SERVER} or newer`)
  if (row?.read_only === 'on') throw new Failure('store.failed', `PostgreSQL: ${connectionAdvice({ code: READ_ONLY })}`)
  if (row?.encoding === 'UTF8') return
  throw new Failure('store.failed', `the database has the encoding ${row?.encoding}: create one with ENCODING 'UTF8' TEMPLATE template0`)
}

/** Opens connections to a database without checking its tables. `settings` are settings of the server, such as `statement_timeout`. */
export async function connectDatabase(options: DatabaseOptions, settings: Readonly<Record<string, string>> = {}): Promise<Database> {
  const { schema = DEFAULT_SCHEMA } = options
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new Failure('store.failed', `${JSON.stringify(schema)} can not be the name of a schema: use lower-case letters, digits and _`)
  let connections: Connections
  try {
    connections = await openConnections({ ...options, schema }, settings)
  } catch (error) {
    throw translateError(error)
  }
  const { pool, isPooled, queriesOf } = connections
  const channel = `daybook_${schema}`
  let closed = false

  const checkOpen = () => {
    if (closed) throw new Failure('store.closed', 'the store was closed: open it again')
  }
  const translated = async <T>(work: () => Promise<T>): Promise<T> => {
    checkOpen()
    try {
      return await work()
    } catch (error) {
      throw translateError(error)
    }
  }

  async function transaction<T>(begin: string, work: (queries: Queries) => Promise<T>, answer: AnswerTime = 'later'): Promise<T> {
    const client = await pool.connect()
    let failed: unknown
    try {
      await client.query(`${begin}${connections.afterBegin}`)
      const result = await work(queriesOf(client, answer))
      await client.query('COMMIT')
      return result
    } catch (error) {
      failed = connections.lossOf(client) ?? error
      if (!isConnectionError(failed)) await rollBack(client) // otherwise the server rolls back when the connection is closed
      throw failed
    } finally {
      client.release(isConnectionError(failed) ? (failed as Error) : undefined) // a broken connection is not used again
    }
  }

  const write = <T>(work: (queries: Queries) => Promise<T>, idleMs = LEASE_MS, answer?: AnswerTime) =>
    translated(() => transaction(IDLE_SETTING in settings ? 'BEGIN' : `BEGIN; ${endAfterIdle(idleMs)}`, work, answer))
  // behind a pooler, each transaction may get another connection, so even a single statement needs a transaction with its settings
  const pooled = queriesOf(pool, 'soon')
  const single = <T>(work: (queries: Queries) => Promise<T>) =>
    translated(() => (isPooled ? transaction('BEGIN', work, 'soon') : work(pooled)))
  const statements: Queries = {
    all: (sql, values, how) => single((queries) => queries.all(sql, values, how)),
    run: (sql, values) => single((queries) => queries.run(sql, values)),
  }
  const database: Database = {
    statements,
    all: (sql, values, how) => whileLost(() => statements.all(sql, values, how)),
    write,
    repeat: (work, idleMs, answer) => whileLost(() => write(work, idleMs, answer)),
    read: (work) => whileLost(() => translated(() => transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work))),
    isPooled,
    canListen: !isPooled || options.listenUrl !== undefined,
    async listen(onNotice, onLost, channels = [channel]) {
      checkOpen()
      const client = connections.createListener()
      let state: 'opening' | 'open' | 'ended' = 'opening'
      let sending: Promise<void> = Promise.resolve()
      const lost = (error: unknown) => {
        if (state !== 'open') return // `listen` throws, or the caller has closed the connection
        state = 'ended'
        onLost(error)
      }
      client.on('notification', ({ payload }) => state === 'ended' || onNotice(payload ?? ''))
      client.on('error', lost)
      client.on('end', () => lost(new Error('the connection was closed')))
      try {
        await client.connect()
        await client.query(channels.map((name) => `LISTEN ${name}`).join(';'))
      } catch (error) {
        void client.end().catch(() => {}) // the connection may already be lost
        throw error
      }
      state = 'open'
      ;(client as unknown as { connection?: { stream?: { unref?(): void } } }).connection?.stream?.unref?.() // listening alone does not keep the process running
      return {
        notify(to, payload) {
          // the notifications are sent one after the other, because a client runs one statement at a time
          const sent = sending.then(async () => void (await queriesOf(client).run(NOTIFY, [to, payload])))
          sending = sent.catch(() => {}) // the caller gets the error
          return sent
        },
        async close() {
          state = 'ended'
          await client.end().catch(() => {}) // the connection may already be lost
        },
      }
    },
    notify: async (payload) => void (await statements.run(NOTIFY, [channel, payload])),
    async close() {
      if (closed) return
      closed = true
      await pool.end()
    },
  }
  return database
}

/** Sends a notification. A crash of the server ends all connections that listen, so the commit need not be synced to the disk. */
const NOTIFY = `SELECT pg_notify($1, $2) WHERE set_config('synchronous_commit', 'off', true) = 'off'`

const IDLE_SETTING = 'idle_in_transaction_session_timeout'

/**
 * Makes the server end the transaction when the process is idle in it for this time. Otherwise a process that is frozen within a
 * transaction would keep its locks. If the server or the role has already set such a time-out, it is not changed.
 */
const endAfterIdle = (ms: number) => `SELECT set_config('${IDLE_SETTING}', '${ms}', true) WHERE current_setting('${IDLE_SETTING}') = '0'`

async function rollBack(client: PoolClient): Promise<void> {
  await client.query('ROLLBACK').catch(() => {}) // the connection was lost, so the server rolls back
}

/** For how long work is tried again after the connection was lost. It is tried again at least once, because a time-out can be longer. */
const RETRY_MS = 30_000

/**
 * Runs `work`, and runs it again as long as it fails because the connection was lost. `onLost` is called before each further attempt. If it
 * finds out that the work was already done, it returns the result.
 */
export async function whileLost<T>(work: () => Promise<T>, onLost: () => Promise<T | undefined> = async () => undefined): Promise<T> {
  const deadline = performance.now() + RETRY_MS
  for (let wait = 20, isFirst = true; ; wait = Math.min(wait * 2, 250), isFirst = false) {
    try {
      return await work()
    } catch (error) {
      const isLost = error instanceof Failure && error.details.connectionLost === true
      if (!isLost || (!isFirst && performance.now() > deadline)) throw error
      await sleep(wait)
      const done = await onLost()
      if (done !== undefined) return done
    }
  }
}
