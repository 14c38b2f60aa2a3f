import { Failure } from '../../../../core/failure.ts'
import type { ListedBlobs } from '../../../../ports/blobs.ts'
import type { Owner } from '../../../../ports/store.ts'
import { type ConversationRow, leaseOf } from '../../shared/conversation-row.ts'
import type { CopySource, CopyTarget } from '../../shared/copy.ts'
import { isFree } from '../../shared/lease.ts'
import { createPostgresBlobs } from '../blobs/blobs.ts'
import { createPostgresObjects, type PostgresObjects } from '../blobs/objects.ts'
import { APPLICATION_NAME } from '../connections.ts'
import { connectDatabase, type Database, type DatabaseOptions, type Queries } from '../database.ts'
import { checkTables, DEFAULT_SCHEMA, migrateTables } from '../schema/migrate.ts'
import { createCopyReader, createCopyWriter, insertReceipts } from './copy.ts'

/** The blobs and hosted files of a database. */
export interface PostgresFiles {
  readonly blobs: ListedBlobs
  readonly objects: PostgresObjects
}

/** A number that no other program is likely to use as an advisory lock. */
const MOVE_LOCK = 0x64617964

/**
 * Connects to a database for a move. Throws if the address is that of a pooler, because the move could not notice a server that uses the
 * same pooler.
 */
async function connectMover(options: DatabaseOptions): Promise<Database> {
  const connection = { ...options, maxConnections: 4, applicationName: `${APPLICATION_NAME} move` }
  const database = await connectDatabase(connection, { statement_timeout: '0', idle_in_transaction_session_timeout: '0' })
  if (!database.isPooled) return database
  await database.close()
  throw new Failure('store.failed', 'the address of the database is that of a connection pooler: use the address of the server itself')
}

/** What the schema of a database contains: no tables, tables of Daybook without rows, or data. */
export type SchemaContent = 'none' | 'empty' | 'data'

/**
 * Runs `work` with a snapshot of the rows of a database that no server uses. While `work` runs, no process can write conversations. Throws
 * `store.failed` if the database has no tables, or if a server uses it.
 */
export async function withPostgresSource<T>(
  options: DatabaseOptions & { readonly owner: Owner; readonly blobs?: ListedBlobs | undefined },
  work: (source: CopySource, files: PostgresFiles) => Promise<T>,
): Promise<T> {
  const { schema = DEFAULT_SCHEMA } = options
  const database = await connectMover(options)
  try {
    if ((await contentOf(database, schema)) === 'none')
      throw new Failure('store.failed', `the database has no schema ${schema} with conversations: check the address and the schema`)
    await checkTables(database, schema)
    const files = { blobs: options.blobs ?? createPostgresBlobs(database), objects: createPostgresObjects(database) }
    return await database.write(async (queries) => {
      await lockSource(queries, options.owner)
      return work(createCopyReader(queries, files.blobs), files)
    })
  } finally {
    await database.close()
  }
}

async function lockSource(queries: Queries, owner: Owner): Promise<void> {
  const inUse = (why: string) => new Failure('store.failed', `the database is in use (${why}): end all servers that use it, and try again`)
  await queries.run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
  await queries.run(`SET LOCAL lock_timeout = '2s'`)
  try {
    // the lock is taken before the first query, because the first query determines the snapshot
    await queries.run('LOCK TABLE conversations, objects, blobs IN SHARE MODE')
  } catch (error) {
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
    throw inUse('a process is writing')
  }
  const [lock] = await queries.all<{ taken: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS taken', [MOVE_LOCK])
  if (!lock?.taken) throw inUse('another move is running')
  const connected = await queries.all<{ client: string | null; pid: number }>(
    `SELECT client_addr::text AS client, pid FROM pg_stat_activity WHERE datname = current_database()
     AND (application_name = $1 OR starts_with(application_name, $1 || ': '))`,
    [APPLICATION_NAME],
  )
  if (connected[0]) throw inUse(`${connected.length} connections of Daybook, one of them from ${connected[0].client ?? 'this machine'}`)
  const rows = await queries.all<ConversationRow>('SELECT * FROM conversations WHERE lease_expires_at > $1', [new Date().toISOString()])
  const held = rows.find((row) => !isFree(leaseOf(row), owner, new Date().toISOString()))
  if (held) throw inUse(`process ${held.owner_pid} on ${held.owner_host} works on conversation ${held.id}`)
}

const LOCK_NOT_AVAILABLE = '55P03'

/** What a schema contains. `empty` means that it has the tables of Daybook without rows. */
async function contentOf({ statements: { all } }: Pick<Database, 'statements'>, schema: string): Promise<SchemaContent> {
  const relations = await all<{ name: string }>('SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace($1)', [schema])
  if (relations.length === 0) return 'none'
  if (!relations.some(({ name }) => name === 'conversations')) return 'data' // the tables belong to another program
  const filled = ['conversations', 'blobs', 'objects'].map((table) => `EXISTS (SELECT 1 FROM ${schema}.${table})`)
  const [rows] = await all<{ some: boolean }>(`SELECT ${filled.join(' OR ')} AS some`)
  return rows?.some ? 'data' : 'empty'
}

/** What is in the schema, and the source of an unfinished move into it. */
export async function inspectTarget(
  options: DatabaseOptions,
): Promise<{ readonly content: SchemaContent; readonly unfinishedFrom?: string }> {
  const { schema = DEFAULT_SCHEMA } = options
  const database = await connectMover(options)
  try {
    const content = await contentOf(database, schema)
    const source = await unfinishedSource(database, draftOf(schema))
    return { content, ...(source !== undefined && { unfinishedFrom: source }) }
  } finally {
    await database.close()
  }
}

/** The schema in which a move collects its rows. It gets its final name when all rows are copied. */
export const draftOf = (schema: string): string => `${schema}_moving`

async function unfinishedSource({ statements }: Pick<Database, 'statements'>, draft: string): Promise<string | undefined> {
  const [table] = await statements.all<{ found: string | null }>('SELECT to_regclass($1)::text AS found', [`${draft}.move`])
  if ((table?.found ?? null) === null) return undefined
  return (await statements.all<{ source: string }>(`SELECT source FROM ${draft}.move`))[0]?.source
}

/**
 * Runs `work` with tables in a separate schema, which `finish` renames. If an earlier move from `source` has left such a schema, the move
 * is continued there.
 */
export async function withPostgresTarget<T>(
  options: DatabaseOptions & { readonly source: string; readonly blobs?: ListedBlobs | undefined },
  work: (target: CopyTarget, files: PostgresFiles) => Promise<T>,
): Promise<T> {
  const { schema = DEFAULT_SCHEMA, source } = options
  const draft = draftOf(schema)
  const database = await connectMover({ ...options, schema: draft })
  try {
    if ((await unfinishedSource(database, draft)) === undefined) {
      await database.write(async ({ run }) => {
        await run(`CREATE SCHEMA IF NOT EXISTS ${draft}`)
        await run('CREATE TABLE IF NOT EXISTS move (source text NOT NULL)')
        await run('INSERT INTO move VALUES ($1)', [source])
      })
    }
    await migrateTables(database, draft)
    const files = { blobs: options.blobs ?? createPostgresBlobs(database), objects: createPostgresObjects(database) }
    const reader = createCopyReader(database, files.blobs)
    const finish: CopyTarget['finish'] = (rest) => finishTarget(database, schema, rest)
    return await work({ ...reader, ...createCopyWriter(database), finish }, files)
  } finally {
    await database.close()
  }
}

/** Gives the schema its final name, in one transaction. */
async function finishTarget(database: Database, schema: string, rest: Parameters<CopyTarget['finish']>[0]): Promise<void> {
  await database.write(async (queries) => {
    const { all, run } = queries
    await run('INSERT INTO unreferenced_blobs SELECT unnest($1::text[]) ON CONFLICT DO NOTHING', [rest.unreferencedBlobs])
    await run('INSERT INTO budgets SELECT * FROM json_populate_recordset(NULL::budgets, $1) ON CONFLICT DO NOTHING', [
      JSON.stringify(rest.budgets),
    ])
    await insertReceipts(queries, rest.receipts)
    if (rest.latestEpoch > 0) await all(`SELECT setval('claims', $1)`, [rest.latestEpoch])
    await all(`SELECT setval(pg_get_serial_sequence('offers', 'number'), max(number)) FROM offers HAVING max(number) > 0`)
    await run('DROP TABLE move')
    await run('ANALYZE') // the planner needs to know how large the tables are
    if ((await contentOf({ statements: queries }, schema)) !== 'none') await dropEmptyTables(queries, schema)
    await run(`DROP SCHEMA IF EXISTS ${schema}`)
    await run(`ALTER SCHEMA ${draftOf(schema)} RENAME TO ${schema}`)
  })
}

/**
 * Removes the tables and functions of Daybook that `daybook migrate` or a server has created in the schema. Tables and functions of other
 * programs stay.
 */
async function dropEmptyTables(queries: Queries, schema: string): Promise<void> {
  await queries.run(`LOCK TABLE ${schema}.conversations, ${schema}.blobs, ${schema}.objects IN ACCESS EXCLUSIVE MODE`)
  if ((await contentOf({ statements: queries }, schema)) === 'data')
    throw new Failure(
      'store.failed',
      'a server has used the target during the move: end the server, remove its conversations from the target, and run the move again',
    )
  const ours = await queries.all<{ name: string }>('SELECT tablename AS name FROM pg_tables WHERE schemaname = $1', [draftOf(schema)])
  for (const { name } of ours) await queries.run(`DROP TABLE IF EXISTS ${schema}."${name}" CASCADE`)
  await queries.run(`DROP SEQUENCE IF EXISTS ${schema}.claims`)
  const functions = await queries.all<{ name: string }>('SELECT proname AS name FROM pg_proc WHERE pronamespace = $1::regnamespace', [
    draftOf(schema),
  ])
  for (const { name } of functions) await queries.run(`DROP FUNCTION IF EXISTS ${schema}."${name}"()`)
}
