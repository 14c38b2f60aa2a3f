import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { folderSchema, openFolderStore, queryFolder, testDatabase } from '../support/stores.ts'

export const isPostgres = testDatabase() !== undefined

/** The tables with rows of the memory index, except the table of models. */
export const tables = [
  'owners',
  'snippets',
  'documents',
  'postings',
  'turns',
  'vectors',
  'behind',
  ...(isPostgres ? ['progress'] : []),
].map((name) => `memory_${name}`)

/** A place for conversations that several stores may share: an SQLite file, or a schema of PostgreSQL. */
export interface Place {
  readonly folder: string
  open(blobs?: BlobStore): Promise<ConversationStore>
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Changes rows as no store does. */
  change(sql: string): Promise<void>
  countRows(table: string): Promise<number>
  /** The tables of the memory index that have rows. */
  filledTables(): Promise<readonly string[]>
  /** Closes the stores and removes the data. */
  remove(): Promise<void>
}

/** Creates an empty place. */
export function createPlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-recall-'))
  const opened: ConversationStore[] = []
  const query = (sql: string) => queryFolder(folder, sql)
  const countRows = async (table: string) => Number((await query(`SELECT count(*) AS rows FROM ${table}`))[0]?.rows)
  return {
    folder,
    async open(blobs) {
      const store = await openFolderStore(folder, { clock: createFixedClock(), ...(blobs && { blobs }) })
      opened.push(store)
      return store
    },
    query,
    change: (sql) => changeFolder(folder, sql),
    countRows,
    async filledTables() {
      const counts = await Promise.all(tables.map(async (table) => ({ table, rows: await countRows(table) })))
      return counts.flatMap(({ table, rows }) => (rows > 0 ? [table] : []))
    },
    async remove() {
      for (const store of opened) await store.close()
      if (isPostgres) await changeFolder(folder, `DROP SCHEMA IF EXISTS ${folderSchema(folder)} CASCADE`)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function changeFolder(folder: string, sql: string): Promise<void> {
  const url = testDatabase()
  if (url === undefined) {
    const database = new DatabaseSync(join(folder, 'daybook.db'))
    database.exec(sql)
    database.close()
    return
  }
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${folderSchema(folder)}` })
  await client.connect()
  await client.query(sql)
  await client.end()
}
