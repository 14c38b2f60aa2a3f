import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../../core/failure.ts'
import { createMutex } from '../shared/mutex.ts'
import { BrokenTransaction, createWriteGroups, type WriteTogether } from './group.ts'
import { createFileCheck, isBusy, openConnections, translateSqliteError } from './open.ts'

/** An open SQLite file, with one connection that writes and one that reads. */
export interface Database {
  /**
   * Runs `work` in a transaction. No other `write` runs meanwhile, in this process or in another. The data is durable when the promise
   * resolves.
   */
  write<T>(work: () => T | Promise<T>): Promise<T>
  /**
   * Does the same as `write`, but the transaction may contain the writes of other callers too. Use it for short work that writes few rows.
   */
  writeTogether: WriteTogether
  /**
   * Like `writeTogether`, but waits neither for the disk nor for the groups of `writeTogether`. A killed process loses nothing. A power cut
   * may undo the write, unless a later `write` or `writeTogether` has brought it to the disk. Use it for leases, because a power cut also
   * ends the owner of the lease, and for data that can be computed again.
   */
  writeUnsynced: WriteTogether
  /** Runs `work` on one snapshot of the committed data. */
  read<T>(work: () => T): T
  /**
   * A text that changes with every commit, except those of `writeTogether` and `writeUnsynced` in this process. Compare it with an earlier
   * text to notice commits.
   */
  revision(): string
  /** Prepares a statement for use inside `write`. */
  writeStatement<Row extends object>(sql: string): Statement<Row>
  /** Prepares a statement for use inside `read`. */
  readStatement<Row extends object>(sql: string): Statement<Row>
  /**
   * Prepares a statement for use inside `read`, whose rows are arrays of values. For many rows, this takes about a third less time than
   * objects.
   */
  readTuples<Row extends readonly unknown[]>(sql: string): Pick<Statement<Row>, 'all'>
  /**
   * Copies the write-ahead log into the file and empties the log, so that deleted text is in neither. If another process reads at this
   * moment, the log stays as it is, and the result is false.
   */
  emptyLog(): Promise<boolean>
  close(): Promise<void>
}

/** A prepared statement. The caller declares the shape of its rows. */
export interface Statement<Row extends object> {
  get(...values: SQLInputValue[]): Row | undefined
  all(...values: SQLInputValue[]): readonly Row[]
  iterate(...values: SQLInputValue[]): Iterable<Row>
  /** Returns the number of changed rows. */
  run(...values: SQLInputValue[]): number
}

/** How long to wait for a lock that another process holds. */
const LOCK_WAIT_MS = 10_000

export async function openDatabase(file: string, allowReadOnly = false): Promise<Database> {
  const { writer, reader } = await retryWhileLocked(file, () => openConnections(file, allowReadOnly))
  const checkFile = createFileCheck(file)
  checkFile()
  const begin = writer.prepare('BEGIN IMMEDIATE')
  const commit = writer.prepare('COMMIT')
  const savepoint = writer.prepare('SAVEPOINT one')
  const release = writer.prepare('RELEASE one')
  const dataVersion = writer.prepare('PRAGMA data_version') // changes with the commits of other connections, not with those of `writer`
  let commits = 0
  const exclusively = createMutex()
  let closed = false

  const checkOpen = () => {
    if (closed) throw new Failure('store.closed', 'the store was closed: open it again')
  }

  /** With `NORMAL`, a commit does not wait for the disk. The setting can not be changed inside a transaction. */
  let synchronous: 'FULL' | 'NORMAL' = 'FULL'

  async function transaction<T>(work: () => T | Promise<T>, level: typeof synchronous = 'FULL'): Promise<T> {
    await retryWhileLocked(file, () => {
      checkOpen()
      if (level !== synchronous) writer.exec(`PRAGMA synchronous = ${level}`)
      synchronous = level
      begin.run()
    })
    try {
      const result = await work()
      commit.run()
      checkFile() // SQLite can commit to a removed file without an error, but the data is lost
      return result
    } catch (error) {
      if (writer.isTransaction) writer.exec('ROLLBACK')
      throw translateSqliteError(error, file)
    }
  }

  function nested<T>(work: () => T): T {
    savepoint.run()
    try {
      const result = work()
      release.run()
      return result
    } catch (error) {
      // after some errors, such as a full disk, SQLite has rolled back the whole transaction
      if (!writer.isTransaction) throw new BrokenTransaction('the transaction was rolled back', { cause: error })
      writer.exec('ROLLBACK TO one; RELEASE one')
      throw translateSqliteError(error, file)
    }
  }

  /** The connection that runs read statements now. */
  let reading = reader

  const beginRead = prepareStatement(() => reading, 'BEGIN')
  const endRead = prepareStatement(() => reading, 'COMMIT')

  function readOn<T>(connection: DatabaseSync, work: () => T): T {
    const before = reading
    reading = connection
    try {
      beginRead.run()
      const result = work()
      endRead.run()
      return result
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK')
      throw error
    } finally {
      reading = before
    }
  }

  /**
   * Reads with the connection of the writer while no transaction runs. The cache of this connection still has the pages that it has
   * written, whereas every commit empties the cache of the reader's connection. If the database is locked, the reader is used instead,
   * because it waits longer for a lock.
   */
  function readCommitted<T>(work: () => T): T {
    if (writer.isTransaction) return readOn(reader, work)
    try {
      return readOn(writer, work)
    } catch (error) {
      if (!isBusy(error)) throw error
      return readOn(reader, work)
    }
  }

  return {
    async write(work) {
      const result = await exclusively(() => transaction(work))
      commits++
      return result
    },
    writeTogether: createWriteGroups({ transaction: (work) => exclusively(() => transaction(work)), nested }),
    writeUnsynced: createWriteGroups({ transaction: (work) => exclusively(() => transaction(work, 'NORMAL')), nested }),
    read(work) {
      checkOpen()
      try {
        return readCommitted(work)
      } catch (error) {
        throw translateSqliteError(error, file)
      }
    },
    revision() {
      checkOpen()
      try {
        return `${commits} ${Object.values(dataVersion.get() ?? {})}`
      } catch (error) {
        throw translateSqliteError(error, file)
      }
    },
    writeStatement: (sql) => prepareStatement(() => writer, sql),
    readStatement: (sql) => prepareStatement(() => reading, sql),
    readTuples: (sql) => prepareStatement(() => reading, sql, 'arrays'),
    emptyLog: () =>
      exclusively(() => {
        checkOpen()
        try {
          const { busy } = writer.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number } // the pragma returns one row
          return busy === 0
        } catch (error) {
          if (isBusy(error)) return false
          throw translateSqliteError(error, file)
        }
      }),
    close: () =>
      exclusively(() => {
        if (closed) return
        closed = true
        reader.close()
        writer.close() // the last connection that closes merges the write-ahead log into the file
      }),
  }
}

/** Retries `attempt` while another process holds the lock. The event loop is not blocked meanwhile. */
async function retryWhileLocked<T>(file: string, attempt: () => T): Promise<T> {
  const deadline = performance.now() + LOCK_WAIT_MS
  for (let pause = 2; ; pause = Math.min(pause * 2, 40)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw translateSqliteError(error, file)
    }
    await sleep(pause * (0.5 + Math.random())) // random, so that two waiting processes do not always retry at the same time
  }
}

/** A statement that is prepared when a connection runs it for the first time. */
function prepareStatement<Row extends object>(connection: () => DatabaseSync, sql: string, rows?: 'arrays'): Statement<Row> {
  const prepared = new Map<DatabaseSync, StatementSync>()
  const statement = () => {
    const database = connection()
    const known = prepared.get(database)
    if (known) return known
    const added = database.prepare(sql)
    if (rows === 'arrays') added.setReturnArrays(true)
    prepared.set(database, added)
    return added
  }
  return {
    get: (...values) => statement().get(...values) as Row | undefined, // the caller declares the shape of the rows
    all: (...values) => statement().all(...values) as object[] as Row[],
    iterate: (...values) => statement().iterate(...values) as Iterable<Row>,
    run: (...values) => Number(statement().run(...values).changes),
  }
}
