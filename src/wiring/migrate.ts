import { existsSync } from 'node:fs'
import type { StoreSettings } from './storage.ts'
import { openStore, storePaths } from './store.ts'

/** What a migration did, or would do. A database without tables has the version 0. */
export interface Migration {
  /** What was migrated, such as the path of the file. */
  readonly database: string
  readonly from: number
  readonly to: number
}

/**
 * Brings the database of the settings to the format of this version. Undefined when there is no database yet. With `dryRun`, nothing is
 * kept of it. The tables of a PostgreSQL database are migrated only by this function, because several servers may use them. An SQLite file
 * belongs to one machine, so opening it migrates it in one transaction.
 */
export async function migrateStore(settings: StoreSettings, { dryRun = false } = {}): Promise<Migration | undefined> {
  if (settings.databaseUrl !== undefined) {
    const { migratePostgres } = await import('../adapters/store/postgres/store.ts')
    return { database: 'PostgreSQL', ...(await migratePostgres({ url: settings.databaseUrl }, { dryRun })) }
  }
  const { file } = storePaths(settings)
  if (!existsSync(file)) return undefined
  const { formatsOf } = await import('../adapters/store/sqlite/open.ts')
  const { found, current } = formatsOf(file)
  if (!dryRun) await (await openStore(settings)).close()
  return { database: file, from: found, to: current }
}
