import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Failure } from '../../../core/failure.ts'
import { foldTitle } from '../shared/conversation-list.ts'
import { makeFolder } from './make-folder.ts'
import { APPLICATION_ID, migrations, SCHEMA_VERSION } from './schema.ts'

/** Two connections: one that writes, one that only ever sees what is committed. */
export interface Connections {
  readonly writer: DatabaseSync
  readonly reader: DatabaseSync
}

/** How long SQLite itself waits for a lock. Short: it blocks the whole process, so longer waits are done elsewhere. */
const LOCK_WAIT_MS = 50
const HEADER_BYTES = 512

/** Looks first, without a way to write; a file that is not ours, damaged or newer is closed as it was found. */
export function openConnections(file: string): Connections {
  try {
    const logged = hasWriteAheadLog(file) // asked first: whoever makes a new file writes its first page before its log
    if (logged || sizeOf(file) > 0) checkFile(file)
    else createPrivateFile(file)
    const writer = openWriter(file)
    const reader = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
    reader.function('folded', { deterministic: true }, (title) => foldTitle(String(title)))
    return { writer, reader }
  } catch (error) {
    throw error instanceof Error && 'syscall' in error
      ? new Failure('store.failed', `${file} can not be opened: ${error.message}`, { cause: error })
      : error
  }
}

/** Readable by its owner only; SQLite gives the files it makes beside it the same rights. */
function createPrivateFile(file: string): void {
  makeFolder(dirname(file))
  closeSync(openSync(file, 'a', 0o600))
}

function openWriter(file: string): DatabaseSync {
  const writer = new DatabaseSync(file, { timeout: LOCK_WAIT_MS, enableForeignKeyConstraints: true })
  try {
    // Small pages waste little: rows of a few KB fill pages of 4 KB and more only by half, measured over rows of 0.5 to 9 KB.
    writer.exec('PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000')
    migrate(writer)
    return writer
  } catch (error) {
    writer.close()
    throw error
  }
}

/** Versions only go up, and all steps or none are taken. Two processes may come here at once. */
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

function checkFile(file: string): void {
  withReadOnly(file, (database) => checkNotTruncated(database, file))
}

/** Reads without a way to write; beside a file that was closed in order it makes none. One that is not ours, damaged or newer is refused. */
export function withReadOnly<T>(file: string, read: (database: DatabaseSync) => T): T {
  if (!hasSqliteHeader(file)) throw damagedFile(file, 'it does not begin as a database does') // SQLite takes a stump for an empty one
  const database = new DatabaseSync(hasWriteAheadLog(file) ? file : immutableUrl(file), { readOnly: true, timeout: LOCK_WAIT_MS })
  try {
    const version = versionOf(database)
    const whose = pragma(database, 'application_id')
    const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number } // count gives a number
    if (tables > 0 && whose !== APPLICATION_ID) throw damagedFile(file, 'it belongs to another program')
    if (version > SCHEMA_VERSION) throw newerVersion(file, version)
    return read(database)
  } finally {
    database.close()
  }
}

/** A file that was cut short shows it only where it was cut. While a log waits to be merged, the file may rightly be shorter. */
function checkNotTruncated(database: DatabaseSync, file: string): void {
  if (hasWriteAheadLog(file)) return
  const expected = pragma(database, 'page_count') * pragma(database, 'page_size')
  const found = statSync(file).size
  if (found < expected) throw damagedFile(file, `it should have ${expected} bytes and has ${found}`)
}

function hasSqliteHeader(file: string): boolean {
  if (sizeOf(file) === 0) return false
  const header = Buffer.alloc(HEADER_BYTES)
  const opened = openSync(file, 'r')
  try {
    return readSync(opened, header) === HEADER_BYTES && header.toString('latin1', 0, 16) === 'SQLite format 3\0'
  } finally {
    closeSync(opened)
  }
}

/** Changes that wait to be merged: someone is writing, or was when it died. */
const hasWriteAheadLog = (file: string) => sizeOf(`${file}-wal`) > 0
const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Told that nobody writes, SQLite makes no files of its own beside the one it reads. */
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
const CORRUPT = 11
const NOT_A_DATABASE = 26
const CONSTRAINT_PRIMARY_KEY = 1555

/** SQLite's own result code; extended codes keep the primary one in their low byte. */
function sqliteCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined
}
const primaryCode = (error: unknown) => (sqliteCode(error) ?? 0) & 0xff

export const isBusy = (error: unknown): boolean => primaryCode(error) === BUSY
export const isDuplicateKey = (error: unknown): boolean => sqliteCode(error) === CONSTRAINT_PRIMARY_KEY

/** What SQLite says, in our words; anything that is not SQLite's flies on unchanged. */
export function translateSqliteError(error: unknown, file: string): unknown {
  if (sqliteCode(error) === undefined) return error
  const reason = (error as Error).message // only errors have SQLite's code
  switch (primaryCode(error)) {
    case CORRUPT:
    case NOT_A_DATABASE:
      return damagedFile(file, reason, error)
    case BUSY:
      return new Failure('store.failed', `${file} stayed locked by another process: nothing was written; try again`, { cause: error })
    default:
      return new Failure('store.failed', `${file}: ${reason}; nothing was written`, { cause: error })
  }
}

export const damagedFile = (file: string, reason: string, cause?: unknown) =>
  new Failure(
    'store.damaged',
    `${file} is not a sound Daybook database (${reason}): it was left as it is; restore a copy or choose another file`,
    {
      cause,
    },
  )
