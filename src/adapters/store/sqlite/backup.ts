import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { translateSqliteError, withReadOnly } from './open.ts'

/** What a copy of a database contains. */
export interface CopiedDatabase {
  readonly conversations: number
  readonly entries: number
  /** The hashes of all blobs to which its entries and offers refer. */
  readonly blobs: readonly string[]
}

/**
 * Copies a database to a new file. The copy is a snapshot of one moment. Other processes may write meanwhile. The copy has no remains of
 * deleted rows, because SQLite writes every row again.
 */
export function copyDatabase(file: string, target: string): void {
  try {
    withReadOnly(file, () => {}) // throws for a file of another program, and for a file of a newer version of Daybook
    const source = new DatabaseSync(file, { readOnly: true, timeout: 10_000 })
    try {
      source.prepare('VACUUM INTO ?').run(target)
    } finally {
      source.close()
    }
  } catch (error) {
    throw translateSqliteError(error, file)
  }
  const copy = openSync(target, 'r+')
  fsyncSync(copy)
  closeSync(copy)
}

/** Reads the facts about a copy, and checks that it is not damaged. */
export function inspectCopy(file: string): CopiedDatabase {
  try {
    return withReadOnly(file, (database) => {
      const value = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0]
      const state = value('PRAGMA quick_check')
      if (state !== 'ok') throw new Error(`the copy is damaged: ${state}`)
      return {
        conversations: Number(value('SELECT count(*) FROM conversations WHERE deleted_at IS NULL')),
        entries: Number(value('SELECT count(*) FROM journal')),
        blobs: database
          .prepare('SELECT DISTINCT sha256 FROM blob_refs JOIN conversations ON key = conversation WHERE deleted_at IS NULL')
          .all()
          .map(({ sha256 }) => String(sha256)),
      }
    })
  } catch (error) {
    throw translateSqliteError(error, file)
  }
}
