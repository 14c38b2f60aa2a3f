import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Failure } from '../../../core/failure.ts'
import { foldTitle } from '../shared/conversation-info.ts'
import { makeFolder } from './make-folder.ts'
import { APPLICATION_ID, migrations, SCHEMA_VERSION } from './schema.ts'

/** Two connections: the writer, and a reader that sees only committed data. */
interface Connections {
  readonly writer: DatabaseSync
  readonly reader: DatabaseSync
}

/** How long SQLite itself waits for a lock. The time is short because it blocks the process; `database.ts` retries without blocking. */
const LOCK_WAIT_MS = 50
const HEADER_BYTES = 512

/**
 * Opens a Daybook database, or creates it. Checks an existing file read-only first, so that a rejected file is not changed. With
 * `allowReadOnly`, a file that this process may not change is opened, and its writer throws when it is used.
 */
export function openConnections(file: string, allowReadOnly: boolean): Connections {
  try {
    const hasLog = hasWriteAheadLog(file) // must come before the size: a new file gets its first page before its log
    if (hasLog || sizeOf(file) > 0) withReadOnly(file, (database) => checkNotTruncated(database, file))
    else createPrivateFile(file)
    const writer = openWriterIfAllowed(file)
    if (writer) return { writer, reader: openReader(file) }
    if (!allowReadOnly) throw readOnlyFile(file)
    withReadOnly(file, (database) => checkCurrent(database, file))
    const source = hasLog ? file : immutableUrl(file)
    return { writer: openReader(source), reader: openReader(source) }
  } catch (error) {
    throw error instanceof Error && 'syscall' in error
      ? new Failure('store.failed', `${file} can not be opened: ${error.message}`, { cause: error })
      : error
  }
}

/** Creates a file that only its owner can read; SQLite gives the same permissions to the files that it creates beside it. */
function createPrivateFile(file: string): void {
  makeFolder(dirname(file))
  closeSync(openSync(file, 'a', 0o600))
}

function openWriter(file: string): DatabaseSync {
  const writer = new DatabaseSync(file, { timeout: LOCK_WAIT_MS, enableForeignKeyConstraints: true })
  try {
    // With rows of 0.5 to 9 KB, pages of 4 KB and more stay half empty.
    writer.exec('PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000')
    migrate(writer)
    return writer
  } catch (error) {
    writer.close()
    throw error
  }
}

function openReader(file: string | URL): DatabaseSync {
  const reader = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  reader.function('folded', { deterministic: true }, (title) => foldTitle(String(title)))
  return reader
}

/** Opens the writer. Returns undefined when this process may not change the file, or may not create files beside it. */
function openWriterIfAllowed(file: string): DatabaseSync | undefined {
  try {
    return openWriter(file)
  } catch (error) {
    if (primaryCode(error) === READ_ONLY || primaryCode(error) === CAN_NOT_OPEN) return undefined
    throw error
  }
}

/** Throws for a file of an older version: it can be read only after a migration, which needs to write. */
function checkCurrent(database: DatabaseSync, file: string): void {
  if (versionOf(database) === SCHEMA_VERSION) return
  throw new Failure(
    'store.failed',
    `${file} was written by an older Daybook and can only be read: copy its folder, and open the copy with --data`,
  )
}

/** Runs the missing migrations in one transaction. The version is read again inside it, because another process may have migrated. */
function migrate(writer: DatabaseSync): void {
  if (versionOf(writer) === SCHEMA_VERSION) return
  writer.exec('BEGIN IMMEDIATE')
  try {
    for (const step of migrations.slice(versionOf(writer))) writer.exec(step)
    writer.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; PRAGMA application_id = ${APPLICATION_ID}`)
    writer.exec('COMMIT')
  } catch (error) {
    if (writer.isTransaction) writer.exec('ROLLBACK')
    throw error
  }
}

/**
 * Reads a file without changing it or creating files beside it. A damaged file or a file of another program throws `store.damaged`. A file
 * of a newer version throws `store.newer`.
 */
export function withReadOnly<T>(file: string, read: (database: DatabaseSync) => T): T {
  if (!hasSqliteHeader(file)) throw damagedFile(file, 'it does not begin as a database does') // SQLite takes an empty file for an empty database
  const database = new DatabaseSync(hasWriteAheadLog(file) ? file : immutableUrl(file), { readOnly: true, timeout: LOCK_WAIT_MS })
  try {
    const version = versionOf(database)
    const applicationId = pragma(database, 'application_id')
    const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number } // there is always one row
    if (tables > 0 && applicationId !== APPLICATION_ID) throw damagedFile(file, 'it belongs to another program')
    if (version > SCHEMA_VERSION) throw newerVersion(file, version)
    return read(database)
  } finally {
    database.close()
  }
}

/**
 * Throws `store.damaged` for a truncated file. SQLite would notice it only when it reads a missing page. While a write-ahead log exists, a
 * shorter file is normal.
 */
function checkNotTruncated(database: DatabaseSync, file: string): void {
  if (hasWriteAheadLog(file)) return
  const expected = pragma(database, 'page_count') * pragma(database, 'page_size')
  const found = statSync(file).size
  if (found < expected) throw damagedFile(file, `it should have ${expected} bytes and has ${found}`)
}

function hasSqliteHeader(file: string): boolean {
  if (sizeOf(file) === 0) return false
  const header = Buffer.alloc(HEADER_BYTES)
  const descriptor = openSync(file, 'r')
  try {
    return readSync(descriptor, header) === HEADER_BYTES && header.toString('latin1', 0, 16) === 'SQLite format 3\0'
  } finally {
    closeSync(descriptor)
  }
}

/** Whether a write-ahead log holds changes that are not in the file yet. Then a process has the file open, or died with it open. */
const hasWriteAheadLog = (file: string) => sizeOf(`${file}-wal`) > 0
const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** The file as a URL with `immutable`. SQLite then assumes that no process writes, and creates no files beside it. */
function immutableUrl(file: string): URL {
  const url = pathToFileURL(file)
  url.searchParams.set('immutable', '1')
  return url
}

const versionOf = (database: DatabaseSync) => pragma(database, 'user_version')

function pragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0])
}

const newerVersion = (file: string, version: number) =>
  new Failure(
    'store.newer',
    `${file} was written by a newer Daybook (format ${version}, this one knows ${SCHEMA_VERSION}): update Daybook; the file was left as it is`,
    {
      details: { version, known: SCHEMA_VERSION },
    },
  )

const BUSY = 5
const READ_ONLY = 8
const CORRUPT = 11
const CAN_NOT_OPEN = 14
const NOT_A_DATABASE = 26

/** The extended result code of an SQLite error. Its low byte is the primary code. */
function sqliteCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined
}

const primaryCode = (error: unknown) => (sqliteCode(error) ?? 0) & 0xff

export const isBusy = (error: unknown): boolean => primaryCode(error) === BUSY

/** An error of SQLite as a Failure; other errors are returned unchanged. */
export function translateSqliteError(error: unknown, file: string): unknown {
  if (sqliteCode(error) === undefined) return error
  const reason = (error as Error).message // only errors have a code
  switch (primaryCode(error)) {
    case CORRUPT:
    case NOT_A_DATABASE:
      return damagedFile(file, reason, error)
    case BUSY:
      return new Failure('store.failed', `${file} stayed locked by another process: nothing was written; try again`, { cause: error })
    case READ_ONLY:
      return readOnlyFile(file, error)
    default:
      return new Failure('store.failed', `${file}: ${reason}; nothing was written`, { cause: error })
  }
}

const readOnlyFile = (file: string, cause?: unknown) =>
  new Failure(
    'store.failed',
    `${file} can only be read, and nothing was written: allow writing in its folder, or choose another folder with --data`,
    { cause },
  )

const damagedFile = (file: string, reason: string, cause?: unknown) =>
  new Failure(
    'store.damaged',
    `${file} is not a sound Daybook database (${reason}): it was left as it is; restore a copy or choose another file`,
    {
      cause,
    },
  )
