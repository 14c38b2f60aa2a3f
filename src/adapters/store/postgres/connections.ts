import { createHash } from 'node:crypto'
import type { Client, ClientBase, Pool, QueryResult, Submittable } from 'pg'
import { Failure, missingPackageText } from '../../../core/failure.ts'
import { LEASE_MS } from '../../../ports/store.ts'
import type { AnswerTime, DatabaseOptions, Queries } from './database.ts'

/** The name of the connections of servers and commands. By this name, a move finds out whether a database is in use. */
export const APPLICATION_NAME = 'daybook'

/** The connections of a process to a database. */
export interface Connections {
  readonly pool: Pool
  /**
   * Whether a connection pooler is between this process and the server. In the usual mode of a pooler, each transaction may use another
   * connection to the server. So settings, prepared statements and notifications of a session can not be used.
   */
  readonly isPooled: boolean
  /** Statements that follow `BEGIN`, so that a transaction behind a pooler has the settings of Daybook. */
  readonly afterBegin: string
  /** Why a connection was lost, if the server has said so while no statement ran. */
  lossOf(client: ClientBase): Error | undefined
  /** Runs statements with a client. `answer` says how long the process waits for each answer. Default: the time-out of the client. */
  queriesOf(client: Pool | ClientBase, answer?: AnswerTime): Queries
  /** A connection for notifications, which is not open yet. */
  createListener(): Client
}

/**
 * After this time without an answer, a connection counts as lost. A connection can become silent without an error, for example if a
 * firewall forgets it. The time is longer than a lease, because a statement may wait for the locks of a frozen process, which the server
 * removes when the process was idle for the time of a lease. The parameter `query_timeout` of the address replaces this time.
 */
const ANSWER_MS = LEASE_MS + 10_000

/** How many times longer the process waits for the answer to a statement of a transaction. */
const LATER = 3

/** The longest time of a timer, which is 24 days. The package `pg` uses its default for a statement with the time 0. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** How much longer than `statement_timeout` of the server the process waits, so that the server can report this time-out. */
const MARGIN_MS = 5_000

/**
 * Settings of the planner. There is an index for every query, so sequential scans are off. Otherwise a statement that was planned when a
 * table was nearly empty could later read the whole table. The JIT compiler is off, because compiling takes longer than running any of
 * these queries.
 */
const planning = { enable_seqscan: 'off', jit: 'off' }

/**
 * A setting that has no effect. If a new connection has this setting, it is connected to the server itself, because a pooler rejects or
 * drops the options of a connection.
 */
const MARK = 'daybook.connection'

/** Opens a connection, and uses it to find out whether a pooler is between this process and the server. */
export async function openConnections(
  options: DatabaseOptions & { readonly schema: string },
  given: Readonly<Record<string, string>>,
): Promise<Connections> {
  const { url, schema, maxConnections = 10, applicationName = APPLICATION_NAME } = options
  const pg = await loadPackage()
  const types = { getTypeParser: (oid: number, format?: 'text') => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) }
  const settings = Object.entries({ search_path: schema, ...planning, ...given })
  const sessionOptions = [...settings, [MARK, 'direct'] as const].map(([name, value]) => `-c ${name}=${value}`).join(' ')
  const configOf = (address: string, isPooled: boolean) => ({
    ...addressOf(address, isPooled ? '' : sessionOptions, applicationName),
    types: types as typeof pg.types,
    connectionTimeoutMillis: 10_000,
  })
  const answerMs = given.statement_timeout === '0' ? NO_LIMIT_MS : (answerTimeIn(url) ?? ANSWER_MS)
  const losses = new WeakMap<ClientBase, Error>()
  const openPool = (isPooled: boolean) => {
    const pool: Pool = new pg.Pool({
      ...{ ...configOf(url, isPooled), max: maxConnections, idleTimeoutMillis: 10_000, allowExitOnIdle: true },
      ...{ query_timeout: answerMs, keepAlive: true, keepAliveInitialDelayMillis: 5_000 },
    })
    pool.on('error', () => {}) // an idle connection was lost: the pool opens another one when it is needed
    // the next statement of this connection fails, and reports this error
    pool.on('connect', (client) => client.on('error', (error) => losses.set(client, error)))
    return pool
  }
  let pool = openPool(false)
  let isPooled: boolean
  let serverMs: number
  try {
    const session = await readSession(pool)
    isPooled = !session?.isDirect
    if (isPooled) {
      await pool.end() // a new pool is opened without settings, because the pooler might apply them to a later connection
      pool = openPool(true)
    }
    serverMs = (isPooled ? await readSession(pool) : session)?.statementMs ?? 0 // fails here if the server can not be reached
  } catch (error) {
    await pool.end()
    throw error
  }
  const { listenUrl } = options
  const isPrepared = options.prepare ?? !isPooled
  const soon = Math.min(serverMs === 0 ? answerMs : Math.max(answerMs, serverMs + MARGIN_MS), NO_LIMIT_MS)
  const limits: Readonly<Record<AnswerTime, number>> = { soon, later: Math.min(soon * LATER, NO_LIMIT_MS), any: NO_LIMIT_MS }
  return {
    pool,
    isPooled,
    lossOf: (client) => losses.get(client),
    queriesOf: (client, answer) => queriesOf(client, pg, isPrepared, answer && limits[answer]),
    afterBegin: isPooled ? settings.map(([name, value]) => `; SET LOCAL ${name} = '${value}'`).join('') : '',
    createListener: () =>
      new pg.Client({
        ...configOf(listenUrl ?? url, listenUrl !== undefined),
        ...{ query_timeout: 10_000, keepAlive: true, keepAliveInitialDelayMillis: 5_000 },
      }),
  }
}

/**
 * Reads whether a new connection is connected to the server itself, and `statement_timeout` of the server in milliseconds (0: none).
 * Undefined if a pooler rejects the options of the connection.
 */
async function readSession(pool: Pool): Promise<{ readonly isDirect: boolean; readonly statementMs: number } | undefined> {
  try {
    const { rows } = await pool.query<{ mark: string | null; statement_ms: number }>(
      `SELECT current_setting('${MARK}', true) AS mark, setting::int AS statement_ms FROM pg_settings WHERE name = 'statement_timeout'`,
    )
    return { isDirect: rows[0]?.mark === 'direct', statementMs: rows[0]?.statement_ms ?? 0 }
  } catch (error) {
    if ((error as Error).message.includes('unsupported startup parameter')) return undefined
    throw error
  }
}

/** The time-out of statements that the address has as a parameter. 0 turns the time-out off. */
function answerTimeIn(url: string): number | undefined {
  const text = URL.canParse(url) ? new URL(url).searchParams.get(TIME_PARAMETER) : null
  if (text === null || !/^\d+$/.test(text)) return undefined
  return Number(text) === 0 ? NO_LIMIT_MS : Math.min(Number(text), NO_LIMIT_MS)
}

const TIME_PARAMETER = 'query_timeout'

/**
 * The settings of a connection. Options and a name in the address are removed from the address and joined with ours. Otherwise the package
 * `pg` would use only the options of the address, and the tables would be in another schema. A time-out in the address is removed too,
 * because it would also apply to statements that need a longer one.
 */
function addressOf(url: string, options: string, name: string) {
  const address = URL.canParse(url) ? new URL(url) : undefined
  const given = { options: address?.searchParams.get('options'), name: address?.searchParams.get('application_name') }
  const hasTime = address?.searchParams.has(TIME_PARAMETER)
  for (const key of ['options', 'application_name', TIME_PARAMETER]) address?.searchParams.delete(key)
  const all = [given.options, options].filter((text) => text).join(' ')
  return {
    connectionString: given.options || given.name || hasTime ? (address?.href ?? url) : url,
    application_name: given.name ? `${name}: ${given.name}` : name,
    ...(all !== '' && { options: all }),
  }
}

const INT8 = 20

type Package = Awaited<ReturnType<typeof loadPackage>>

async function loadPackage() {
  try {
    return (await import('pg')).default
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Failure('store.failed', missingPackageText('pg'), { cause: error })
  }
}

/**
 * Runs statements with `client`. A `Query` object of the package is passed to `client`. If the query were a plain object, the package would
 * copy it, which takes 3 µs.
 */
function queriesOf(client: Pool | ClientBase, pg: Pick<Package, 'Query'>, prepare: boolean, answerMs: number | undefined): Queries {
  const query = (sql: string, values: readonly unknown[], isPrepared: boolean) => {
    const created: Submittable & { name?: string; query_timeout?: number } = new pg.Query(sql, [...values])
    if (answerMs !== undefined) created.query_timeout = answerMs
    const name = isPrepared && values.length > 0 ? statementName(sql) : undefined
    if (name !== undefined) created.name = name
    return new Promise<QueryResult>((resolve, reject) => {
      const done = (error: Error | undefined, result: QueryResult) => (error ? reject(error) : resolve(result))
      ;(client.query as (query: Submittable, values: undefined, done: Done) => void).call(client, created, undefined, done)
    })
  }
  return {
    all: async (sql, values = [], how = {}) => (await query(sql, values, prepare && how.prepare !== false)).rows,
    run: async (sql, values = []) => (await query(sql, values, prepare)).rowCount ?? 0,
  }
}

type Done = (error: Error | undefined, result: QueryResult) => void

const MAX_PREPARED = 200
const statementNames = new Map<string, string>()

/**
 * The name of a prepared statement. Undefined when there are already very many prepared statements, because a connection keeps each of them
 * in memory. The name is a hash of the text. Behind a pooler, two processes may share a connection, and the same name must then mean the
 * same statement in both.
 */
function statementName(sql: string): string | undefined {
  const known = statementNames.get(sql)
  if (known !== undefined || statementNames.size >= MAX_PREPARED) return known
  const name = `daybook_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`
  statementNames.set(sql, name)
  return name
}
