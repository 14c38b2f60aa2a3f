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
 * Creates the tables, or brings them to the current version, in one transaction. If two processes call this at the same time, the second
 * process waits for the first, and then finds nothing to do. If the connection is lost, the migration is tried again. With `dryRun`, the
 * whole migration runs and is then rolled back.
 */
export async function migrateTables(database: Database, schema: string, { dryRun = false } = {}): Promise<MigrationReport> {
  const tried = new Error('dry run')
  let report: MigrationReport | undefined
  const work = async (queries: Queries) => {
    for (const timeOut of ['statement_timeout', 'idle_in_transaction_session_timeout']) await queries.run(`SET LOCAL ${timeOut} = 0`)
    await queries.run('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
    const done = await runMigrations(queries, schema)
    report = { from: report?.from ?? done.from, to: done.to } // an earlier attempt may have been committed although its answer was lost
    if (dryRun) throw tried // makes the transaction roll back
    return report
  }
  try {
    return await database.repeat(work)
  } catch (error) {
    const isTried = error === tried || (error instanceof Failure && error.cause === tried)
    if (isTried && report) return report
    throw error
  }
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
