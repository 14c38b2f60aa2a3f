import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Relay } from '../../src/ports/store/relay.ts'
import type { ConversationStore } from '../../src/ports/store.ts'

/*
 * Suites that do not depend on one kind of store open their stores here. `vitest.config.ts` lists the suites that run twice: once with
 * stores in memory and in SQLite files, and once with PostgreSQL. The second run sets this variable, which child processes inherit.
 */
export const DATABASE_VARIABLE = 'DAYBOOK_TEST_DATABASE_URL'

/** The address of the database if this run uses PostgreSQL. */
export const testDatabase = (): string | undefined => process.env[DATABASE_VARIABLE]

const maxConnections = 5

/**
 * A suite may open hundreds of stores, one after the other, and most suites do not close them, because a store in memory needs no closing.
 * To limit the number of connections, only the latest stores stay open.
 */
const LATEST = 12
const latest: ConversationStore[] = []
let opened = 0

/** Opens an empty store that only this process uses: in memory, or in PostgreSQL. */
export async function openTestStore({ clock, blobs }: { readonly clock: Clock; readonly blobs?: BlobStore }): Promise<ConversationStore> {
  const url = testDatabase()
  if (url === undefined) return createMemoryStore({ blobs: blobs ?? createMemoryBlobs(), clock })
  const schema = `test_${process.pid}_${++opened}`
  const store = await createPostgresStore({ url, schema, clock, leaseTime: 'clock', maxConnections, ...(blobs && { blobs }) })
  latest.push(store)
  if (latest.length > LATEST) await latest.shift()?.close()
  return store
}

/**
 * Opens the store of a folder, which several processes may use: an SQLite file and a folder of blobs, or a schema of PostgreSQL that belongs
 * to the folder.
 */
export async function openFolderStore(
  folder: string,
  {
    clock = createSystemClock(),
    file = 'daybook.db',
    relay,
    blobs,
  }: { readonly clock?: Clock; readonly file?: string; readonly relay?: Relay; readonly blobs?: BlobStore } = {},
): Promise<ConversationStore> {
  const url = testDatabase()
  const given = { ...(relay && { relay }), ...(blobs && { blobs }) }
  if (url !== undefined)
    return createPostgresStore({ url, schema: folderSchema(folder), clock, leaseTime: 'clock', maxConnections, ...given })
  return createSqliteStore({ file: join(folder, file), blobs: blobs ?? createFileBlobs({ folder: join(folder, 'blobs') }), clock })
}

/** The schema that holds the tables of a folder. */
export const folderSchema = (folder: string): string => `folder_${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`

/** Runs a query on the tables of a folder, in either kind of database. `url` is the address of a PostgreSQL database. */
export async function queryFolder(
  folder: string,
  sql: string,
  url: string | undefined = testDatabase(),
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  if (url === undefined) {
    const database = new DatabaseSync(join(folder, 'daybook.db'), { readOnly: true })
    const rows = database.prepare(sql).all()
    database.close()
    return rows
  }
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${folderSchema(folder)}` })
  await client.connect()
  const { rows } = await client.query(sql)
  await client.end()
  return rows
}

/** The names of the blobs in a folder, sorted. */
export async function blobsInFolder(folder: string): Promise<readonly string[]> {
  if (testDatabase() === undefined) return readdirSync(join(folder, 'blobs'), { recursive: true, encoding: 'utf8' }).sort()
  return (await queryFolder(folder, 'SELECT sha256 FROM blobs WHERE part = 0 ORDER BY sha256')).map(({ sha256 }) => String(sha256))
}

/** How often a property is tried. A run with PostgreSQL takes longer, so there it is tried less often, unless `RUNS` is set. */
export const runsOf = (runs: number): number => Number(process.env.RUNS ?? (testDatabase() === undefined ? runs : Math.ceil(runs / 5)))

/**
 * The cases that are tried: all of them, or with PostgreSQL every third one. With `ALL_CASES=1`, all cases are also tried with PostgreSQL.
 */
export const isTried = (index: number): boolean => testDatabase() === undefined || process.env.ALL_CASES === '1' || index % 3 === 0
