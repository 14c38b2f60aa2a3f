import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../../../core/failure.ts'
import type { Database, Queries } from '../database.ts'
import { migrations, SCHEMA_VERSION } from './schema.ts'

export const DEFAULT_SCHEMA = 'daybook'

/** A number that no other program is likely to use as an advisory lock. */
const MIGRATION_LOCK = 0x64617962

/** The version of the tables, and the oldest version of the code that can work with them. */
interface TableVersion {
  readonly version: number
  readonly compatible_from: number
}

/** What a migration did, or would do. The versions are versions of the tables. 0 means that there are no tables. */
export interface MigrationReport {
  readonly from: number
  readonly to: number
}

/**
 * Checks the tables before they are used. If the schema has no tables, they are created. Code works with tables of its own version, and
 * with newer tables that are compatible with it. This function never migrates tables, because other processes may still work with the old
 * version.
 */
export async function checkTables(database: Database, schema: string): Promise<void> {
  const found = await findVersion(database.statements, schema)
  if (!found) return void (await migrateTables(database, schema))
  checkNotNewer(found, schema)
  if (found.version < SCHEMA_VERSION)
    throw new Failure(
      'store.outdated',
      `the tables in schema ${schema} have version ${found.version}, and this version of Daybook needs ${SCHEMA_VERSION}: run \`daybook migrate\``,
    )
}

/**
 * How long a migration waits for a lock of a table, and how often it tries. While it waits, statements of other processes that use the
 * table wait too. So the wait is short, and the other processes continue in the pause.
 */
const LOCK_WAIT = { eachMs: 2_000, attempts: 4, pauseMs: 1_000 }

/**
 * Creates the tables, or brings them to the current version, in one transaction. If two processes call this at the same time, the second
 * process waits for the first, and then finds nothing to do. If the connection is lost, the migration is tried again. With `dryRun`, the
 * whole migration runs and is then rolled back. Throws `store.failed` if other transactions lock the tables for several seconds.
 */
export async function migrateTables(database: Database, schema: string, { dryRun = false } = {}): Promise<MigrationReport> {
  const tried = new Error('dry run')
  let report: MigrationReport | undefined
  const work = async (queries: Queries) => {
    for (const timeOut of ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'])
      await queries.run(`SET LOCAL ${timeOut} = 0`)
    await queries.run('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    await queries.run(`SET LOCAL lock_timeout = ${LOCK_WAIT.eachMs}`)
    const done = await orLocked(() => runMigrations(queries, schema))
    if (done === 'locked') throw new Failure('store.failed', 'the tables are locked', { details: { isLocked: true } }) // rolls back
    report = { from: report?.from ?? done.from, to: done.to } // an earlier attempt may have been committed although its answer was lost
    if (dryRun) throw tried // makes the transaction roll back
    return report
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await database.repeat(work, undefined, 'any')
    } catch (error) {
      const isTried = error === tried || (error instanceof Failure && error.cause === tried)
      if (isTried && report) return report
      if (!(error instanceof Failure && error.details.isLocked === true)) throw error
      if (attempt === LOCK_WAIT.attempts) throw await lockedFailure(database, schema)
      await sleep(LOCK_WAIT.pauseMs)
    }
  }
}

const LOCK_NOT_AVAILABLE = '55P03'

/** Runs `work`. Returns `locked` if another transaction has locked a table for too long. */
async function orLocked<T>(work: () => Promise<T>): Promise<T | 'locked'> {
  try {
    return await work()
  } catch (error) {
    if ((error as { readonly code?: string }).code === LOCK_NOT_AVAILABLE) return 'locked'
    throw error
  }
}

/** The error of a migration that could not lock the tables. It names the oldest transactions that use them. */
async function lockedFailure({ statements }: Database, schema: string): Promise<Failure> {
  const open = await statements.all<{ pid: number; name: string | null; state: string | null; seconds: number | null }>(
    `SELECT pid, nullif(application_name, '') AS name, state, extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
     FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pid IN (
       SELECT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE granted AND nspname = $1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
     ORDER BY xact_start LIMIT 5`,
    [schema],
  )
  const named = open.map(({ pid, name, state, seconds }) => {
    const facts = [name, state, seconds !== null && `for ${seconds} s`].filter((fact) => fact)
    return facts.length === 0 ? `process ${pid}` : `process ${pid} (${facts.join(', ')})`
  })
  const by = named.length === 0 ? '' : `: ${named.join(', ')} of the database server`
  return new Failure(
    'store.failed',
    `nothing was changed, because open transactions use the tables in schema ${schema}${by}. Wait until they end, or end them with \`SELECT pg_terminate_backend(<process>)\`, and run daybook migrate again`,
  )
}

async function runMigrations(queries: Queries, schema: string): Promise<MigrationReport> {
  const found = await findVersion(queries, schema)
  if (found) checkNotNewer(found, schema)
  const from = found?.version ?? 0
  const missing = migrations.slice(from)
  if (missing.length === 0) return { from, to: from }
  await queries.run(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  await queries.run('CREATE TABLE IF NOT EXISTS version (version integer NOT NULL, compatible_from integer NOT NULL)')
  for (const { sql, fill } of missing) {
    await queries.run(sql)
    await fill?.(queries)
  }
  const compatibleFrom = Math.max(...migrations.map((step) => step.compatibleFrom))
  await queries.run('DELETE FROM version')
  await queries.run('INSERT INTO version VALUES ($1, $2)', [SCHEMA_VERSION, compatibleFrom])
  return { from, to: SCHEMA_VERSION }
}

/** The version of the tables in a schema. Undefined when the schema has no tables. */
export async function findVersion({ all }: Pick<Queries, 'all'>, schema: string): Promise<TableVersion | undefined> {
  // `to_regclass` would not see a table that another process has created since this transaction began
  const tables = await all(
    `SELECT 1 FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = $1 AND relname = 'version'`,
    [schema],
  )
  if (tables.length === 0) return undefined
  return (await all<TableVersion>(`SELECT version, compatible_from FROM ${schema}.version`))[0]
}

function checkNotNewer({ version, compatible_from }: TableVersion, schema: string): void {
  if (compatible_from <= SCHEMA_VERSION) return
  throw new Failure(
    'store.newer',
    `the tables in schema ${schema} have version ${version}, which this version of Daybook can not use: update this installation`,
  )
}
