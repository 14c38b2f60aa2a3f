import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, ClientBase, Pool, PoolClient } from 'pg'
import { errorMessage, Failure, missingPackageText } from '../../../core/failure.ts'
import { connectionAdvice } from './advice.ts'
import { checkTables, DEFAULT_SCHEMA } from './migrate.ts'

/** Options of `openDatabase`. */
export interface DatabaseOptions {
  /** The address of the database, such as `postgres://user:password@host:5432/name`. */
  readonly url: string
  /** The schema that holds the tables. It is created if it does not exist. Default: `daybook`. */
  readonly schema?: string
  /** How many connections are open at most. Default: 10. */
  readonly maxConnections?: number
  /** Whether statements are prepared once per connection. Some connection poolers do not allow it. Default: true. */
  readonly prepare?: boolean
  /** The name of the connections in the views of the server. Default: `daybook`. */
  readonly applicationName?: string
}

/** The name of the connections of servers and commands. A move finds out by it whether a database is in use. */
export const APPLICATION_NAME = 'daybook'

/** Runs statements in one connection. */
export interface Queries {
  /** The rows of a statement. The caller declares their shape. */
  all<Row extends object>(sql: string, values?: readonly unknown[], options?: { readonly prepare?: boolean }): Promise<readonly Row[]>
  /** Returns the number of changed rows. */
  run(sql: string, values?: readonly unknown[]): Promise<number>
}

/**
 * A PostgreSQL database with the tables of Daybook. If the connection is lost, for example because the server is restarted, `read`, `all`
 * and `repeat` try again for some seconds. Other functions throw `store.failed` with `connectionLost` in its details, because what they
 * wrote may have been committed.
 */
export interface Database {
  /** Runs `work` in a transaction. It is durable when the promise resolves. */
  write<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  /** As `write`, for work that does no harm if it is committed twice. */
  repeat<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  /** Runs `work` on one snapshot of the committed data. */
  read<T>(work: (queries: Queries) => Promise<T>): Promise<T>
  /** Runs one statement that only reads. */
  all: Queries['all']
  /** Runs single statements, each of which is a transaction. */
  readonly statements: Queries
  /** Opens a connection that receives notices of other connections. `onLost` is called when the connection ends. */
  listen(onNotice: (payload: string) => void, onLost: (error: unknown) => void): Promise<{ close(): Promise<void> }>
  /** Sends a notice to all connections that listen. */
  notify(payload: string): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a database. Tables are created in a schema that has none. Throws `store.outdated` if the tables need `daybook migrate`, and
 * `store.newer` if this version of Daybook can not work with them.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const database = await connectDatabase(options)
  try {
    await checkEncoding(database)
    await checkTables(database, options.schema ?? DEFAULT_SCHEMA)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Conversations may have every character. A database in another encoding would reject some entries. */
async function checkEncoding({ statements }: Database): Promise<void> {
  const [row] = await statements.all<{ encoding: string }>(`SELECT current_setting('server_encoding') AS encoding`)
  if (row?.encoding === 'UTF8') return
  throw new Failure('store.failed', `the database has the encoding ${row?.encoding}: create one with ENCODING 'UTF8' TEMPLATE template0`)
}

/** Opens connections to a database without looking at its tables. */
export async function connectDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, schema = DEFAULT_SCHEMA, maxConnections = 10, prepare = true, applicationName = APPLICATION_NAME } = options
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new Failure('store.failed', `${JSON.stringify(schema)} can not be the name of a schema: use lower-case letters, digits and _`)
  const pg = await loadPackage()
  const types = { getTypeParser: (oid: number, format?: 'text') => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) }
  const connection = {
    connectionString: url,
    types: types as typeof pg.types,
    options: `-c search_path=${schema} ${PLANNING}`,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
  }
  const pool: Pool = new pg.Pool({ ...connection, max: maxConnections, idleTimeoutMillis: 10_000, allowExitOnIdle: true })
  pool.on('error', () => {}) // an idle connection was lost: the pool opens another one when it is needed
  pool.on('connect', (client) => client.on('error', () => {})) // the next statement of the connection reports that it was lost
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

  async function transaction<T>(begin: string, work: (queries: Queries) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    let failed: unknown
    try {
      await client.query(begin)
      const result = await work(queriesOf(client, prepare))
      await client.query('COMMIT')
      return result
    } catch (error) {
      failed = error
      await rollBack(client)
      throw error
    } finally {
      client.release(isConnectionError(failed) ? (failed as Error) : undefined) // a broken connection is not used again
    }
  }

  const write = <T>(work: (queries: Queries) => Promise<T>) => translated(() => transaction('BEGIN', work))
  const statements: Queries = {
    all: (sql, values, how) => translated(() => queriesOf(pool, prepare).all(sql, values, how)),
    run: (sql, values) => translated(() => queriesOf(pool, prepare).run(sql, values)),
  }
  const database: Database = {
    statements,
    all: (sql, values, how) => whileLost(() => statements.all(sql, values, how)),
    write,
    repeat: (work) => whileLost(() => write(work)),
    read: (work) => whileLost(() => translated(() => transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work))),
    async listen(onNotice, onLost) {
      checkOpen()
      const client: Client = new pg.Client(connection)
      let ended = false
      const lost = (error: unknown) => {
        if (ended) return
        ended = true
        onLost(error)
      }
      client.on('notification', ({ payload }) => onNotice(payload ?? ''))
      client.on('error', lost)
      client.on('end', () => lost(new Error('the connection was closed')))
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      ;(client as unknown as { connection?: { stream?: { unref?(): void } } }).connection?.stream?.unref?.() // listening alone does not keep the process running
      return {
        async close() {
          ended = true
          await client.end().catch(() => {}) // it may be lost already
        },
      }
    },
    notify: async (payload) => void (await statements.run('SELECT pg_notify($1, $2)', [channel, payload])),
    async close() {
      if (closed) return
      closed = true
      await pool.end()
    },
  }
  return database
}

const INT8 = 20

/**
 * Settings of the planner. Every query has an index. A prepared statement may have been planned when a table was nearly empty, and must not
 * read the whole table later. Compiling a query takes longer than any of them runs.
 */
const PLANNING = '-c enable_seqscan=off -c jit=off'

async function loadPackage() {
  try {
    return (await import('pg')).default
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Failure('store.failed', missingPackageText('pg'), { cause: error })
  }
}

function queriesOf(client: Pool | PoolClient | ClientBase, prepare: boolean): Queries {
  const query = (sql: string, values: readonly unknown[], isPrepared: boolean) => {
    const name = isPrepared && values.length > 0 ? statementName(sql) : undefined
    return client.query({ text: sql, values: [...values], ...(name !== undefined && { name }) })
  }
  return {
    all: async (sql, values = [], how = {}) => (await query(sql, values, prepare && how.prepare !== false)).rows,
    run: async (sql, values = []) => (await query(sql, values, prepare)).rowCount ?? 0,
  }
}

const MAX_PREPARED = 200
const statementNames = new Map<string, string>()

/** The name of a prepared statement. Undefined when there are very many, because a connection keeps each of them in memory. */
function statementName(sql: string): string | undefined {
  const known = statementNames.get(sql)
  if (known !== undefined || statementNames.size >= MAX_PREPARED) return known
  const name = `daybook_${statementNames.size}`
  statementNames.set(sql, name)
  return name
}

async function rollBack(client: PoolClient): Promise<void> {
  await client.query('ROLLBACK').catch(() => {}) // the connection was lost, so the server rolls back
}

/** How long work is tried again after the connection was lost. */
const RETRY_MS = 30_000

/** Runs `work` again while it fails because the connection was lost. `onLost` may find out that the work was done. */
export async function whileLost<T>(work: () => Promise<T>, onLost: () => Promise<T | undefined> = async () => undefined): Promise<T> {
  const deadline = performance.now() + RETRY_MS
  for (let wait = 20; ; wait = Math.min(wait * 2, 250)) {
    try {
      return await work()
    } catch (error) {
      const isLost = error instanceof Failure && error.details.connectionLost === true
      if (!isLost || performance.now() > deadline) throw error
      await sleep(wait)
      const done = await onLost()
      if (done !== undefined) return done
    }
  }
}

/** Whether the server could not be reached or ended the connection. The statement may have been carried out. */
export function isConnectionError(error: unknown): boolean {
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  // 53300: the server has no connection left. 25006: it is a replica, perhaps since a failover
  if (/^(?:08|57P0)/.test(code) || ['53300', '25006'].includes(code)) return true
  return (
    /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)/.test(code) ||
    /connection (?:terminated|ended|error)|timeout exceeded|not queryable/i.test(message)
  )
}

/** Whether the server has ended a transaction because of another one. Nothing was committed, and a new attempt can succeed. */
const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes((error as { code?: string } | null)?.code ?? '')

function translateError(error: unknown): unknown {
  if (error instanceof Failure) return error
  const advice = connectionAdvice(error)
  const message = `PostgreSQL: ${errorMessage(error)}${advice === undefined ? '' : `: ${advice}`}`
  return new Failure('store.failed', message, { cause: error, details: { connectionLost: isConnectionError(error) || isConflict(error) } })
}
