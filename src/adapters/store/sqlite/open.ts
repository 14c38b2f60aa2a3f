import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Failure } from '../../../core/failure.ts'
import { makeFolder } from '../shared/make-folder.ts'
import { APPLICATION_ID, migrations, SCHEMA_VERSION } from './schema/schema.ts'

/** Two connections: the writer, and a reader that sees only committed data. */
interface Connections {
  readonly writer: DatabaseSync
  readonly reader: DatabaseSync
}

/**
 * How long SQLite itself waits for a lock. The time is short because this wait blocks the process. `database.ts` retries without blocking.
 */
const LOCK_WAIT_MS = 50
const HEADER_BYTES = 512

/**
 * Opens a Daybook database, or creates it. An existing file is first checked read-only, so that a rejected file is not changed. With
 * `allowReadOnly`, a file that this process may not change can be opened too. Its writer then throws on every write.
 */
export function openConnections(file: string, allowReadOnly: boolean): Connections {
  try {
    // Another process may be creating the file. That process writes the first page of the file and then the write-ahead log. This process
    // checks for the log first and for the size of the file second. So if it finds a log, the file already has its first page.
    const hasLog = hasWriteAheadLog(file)
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

/** Creates a file that only its owner can read. SQLite gives the same permissions to the files that it creates beside this file. */
function createPrivateFile(file: string): void {
  makeFolder(dirname(file))
  closeSync(openSync(file, 'a', 0o600))
}

function openWriter(file: string): DatabaseSync {
  const writer = new DatabaseSync(file, { timeout: LOCK_WAIT_MS, enableForeignKeyConstraints: true })
  try {
    // Most rows have 0.5 to 9 KB. In pages of 4 KB or more, half of the space would stay empty.
    writer.exec('PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000')
    writer.exec('PRAGMA secure_delete = ON') // deleted text is overwritten, so that it can not be read from the file any more
    migrate(writer)
    return writer
  } catch (error) {
    writer.close()
    throw error
  }
}

function openReader(file: string | URL): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
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

/**
 * Throws for a file of an older version. Such a file must be migrated before it can be read, but this process has no right to write to it.
 */
function checkCurrent(database: DatabaseSync, file: string): void {
  if (versionOf(database) === SCHEMA_VERSION) return
  throw new Failure(
    'store.failed',
    `${file} was written by an older Daybook and can only be read: copy its folder, and open the copy with --data`,
  )
}

/**
 * Runs the missing migrations in one transaction. The transaction reads the version again, because another process may have migrated the
 * file meanwhile.
 */
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
 * Runs `read` on the file, without changing the file or creating files beside it. A damaged file or a file of another program throws
 * `store.damaged`. A file of a newer version throws `store.newer`.
 */
export function withReadOnly<T>(file: string, read: (database: DatabaseSync) => T): T {
  // SQLite would open an empty file as an empty database, without an error
  if (!hasSqliteHeader(file)) throw damagedFile(file, 'its first bytes are not those of an SQLite database')
  const database = new DatabaseSync(hasWriteAheadLog(file) ? file : immutableUrl(file), { readOnly: true, timeout: LOCK_WAIT_MS })
  try {
    const version = versionOf(database)
    const applicationId = pragma(database, 'application_id')
    // `count` always returns one row
    const { tables } = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number }
    if (tables > 0 && applicationId !== APPLICATION_ID) throw damagedFile(file, 'it belongs to another program')
    if (version > SCHEMA_VERSION) throw newerVersion(file, version)
    return read(database)
  } finally {
    database.close()
  }
}

/**
 * Throws `store.damaged` for a truncated file. SQLite itself would notice this only when it reads a missing page. While a write-ahead log
 * exists, the last pages may be in the log, so the file is not checked.
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

/**
 * Whether a write-ahead log contains changes that are not in the file yet. In this case a process has the file open, or a process died
 * while it had the file open.
 */
const hasWriteAheadLog = (file: string) => sizeOf(`${file}-wal`) > 0
const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/**
 * The file as a URL with the parameter `immutable`. SQLite then assumes that no process writes to the file, and creates no files beside it.
 */
function immutableUrl(file: string): URL {
  const url = pathToFileURL(file)
  url.searchParams.set('immutable', '1')
  return url
}

const versionOf = (database: DatabaseSync) => pragma(database, 'user_version')

/** The format of a file, and the format that this version of Daybook writes. */
export const formatsOf = (file: string): { readonly found: number; readonly current: number } => ({
  found: withReadOnly(file, versionOf),
  current: SCHEMA_VERSION,
})

function pragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0])
}

const newerVersion = (file: string, version: number) =>
  new Failure(
    'store.newer',
    `${file} was written by a newer Daybook (format ${version}, this one knows ${SCHEMA_VERSION}): update Daybook; the file was not changed`,
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

/** Turns an error of SQLite into a Failure. Other errors are returned unchanged. */
export function translateSqliteError(error: unknown, file: string): unknown {
  if (sqliteCode(error) === undefined) return error
  const reason = (error as Error).message // only instances of Error have a code
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
    `${file} is not a sound Daybook database (${reason}): it was not changed; restore a backup, or choose another file`,
    {
      cause,
    },
  )

/**
 * Notices that an open database was removed or replaced. In this case SQLite continues to use the removed file without an error, and
 * everything that it writes is lost when the process ends. The write-ahead log can be lost in the same way.
 */
export function createFileCheck(file: string): () => void {
  const known = new Map<string, string>()

  return () => {
    for (const path of [file, `${file}-wal`]) {
      const found = identityOf(path)
      const before = known.get(path)
      if (before === undefined) {
        // the write-ahead log does not exist before the first commit
        if (found !== undefined) known.set(path, found)
      } else if (found !== before) throw lostFile(path, found === undefined ? 'removed' : 'replaced')
    }
  }
}

/** Identifies a file. Another file with the same name has another identity. Undefined when the file does not exist. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

const lostFile = (path: string, what: 'removed' | 'replaced') =>
  new Failure(
    'store.failed',
    `${path} was ${what} while Daybook had it open, so nothing can be stored any more: put the file back or restore a backup, and start Daybook again`,
  )
