import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../../core/failure.ts'
import { createMutex } from '../shared/mutex.ts'
import { isBusy, openConnections, translateSqliteError } from './open.ts'

export interface Database {
  /** One transaction, one at a time in this process; it may wait for promises while other processes are kept out. Durable when it resolves. */
  write<T>(work: () => T | Promise<T>): Promise<T>
  /** One snapshot of what is committed. */
  read<T>(work: () => T): T
  writing<Row extends object>(sql: string): Statement<Row>
  reading<Row extends object>(sql: string): Statement<Row>
  close(): Promise<void>
}

/** Prepared once. What a row looks like is written beside its SQL. */
export interface Statement<Row extends object> {
  get(...values: SQLInputValue[]): Row | undefined
  all(...values: SQLInputValue[]): readonly Row[]
  each(...values: SQLInputValue[]): Iterable<Row>
  run(...values: SQLInputValue[]): number
}

const LOCK_WAIT_MS = 10_000

export async function openDatabase(file: string): Promise<Database> {
  const { writer, reader } = await retryWhileLocked(file, () => openConnections(file))
  const begin = writer.prepare('BEGIN IMMEDIATE')
  const commit = writer.prepare('COMMIT')
  const exclusively = createMutex()
  let closed = false

  const checkOpen = () => {
    if (closed) throw new Failure('store.closed', 'the store was closed: open it again')
  }

  async function transaction<T>(work: () => T | Promise<T>): Promise<T> {
    await retryWhileLocked(file, () => {
      checkOpen()
      begin.run()
    })
    try {
      const result = await work()
      commit.run()
      return result
    } catch (error) {
      if (writer.isTransaction) writer.exec('ROLLBACK')
      throw translateSqliteError(error, file)
    }
  }

  return {
    write: (work) => exclusively(() => transaction(work)),
    read(work) {
      checkOpen()
      try {
        reader.exec('BEGIN')
        const result = work()
        reader.exec('COMMIT')
        return result
      } catch (error) {
        if (reader.isTransaction) reader.exec('ROLLBACK')
        throw translateSqliteError(error, file)
      }
    },
    writing: (sql) => prepareStatement(writer, sql),
    reading: (sql) => prepareStatement(reader, sql),
    close: () =>
      exclusively(() => {
        if (closed) return
        closed = true
        reader.close()
        writer.close() // the last to close merges the log into the file
      }),
  }
}

/** Waits for another process's lock without holding up this one. */
async function retryWhileLocked<T>(file: string, attempt: () => T): Promise<T> {
  const deadline = performance.now() + LOCK_WAIT_MS
  for (let pause = 2; ; pause = Math.min(pause * 2, 40)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw translateSqliteError(error, file)
    }
    await sleep(pause * (0.5 + Math.random())) // two that wait for each other must not knock in step
  }
}

function prepareStatement<Row extends object>(database: DatabaseSync, sql: string): Statement<Row> {
  const prepared = database.prepare(sql)
  return {
    get: (...values) => prepared.get(...values) as Row | undefined, // the shape is the statement's own: it is written beside it
    all: (...values) => prepared.all(...values) as Row[],
    each: (...values) => prepared.iterate(...values) as Iterable<Row>,
    run: (...values) => Number(prepared.run(...values).changes),
  }
}
