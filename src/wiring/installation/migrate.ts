import { existsSync } from 'node:fs'
import { errorMessage } from '../../core/failure.ts'
import type { StoreSettings } from '../storage.ts'
import { databaseOptions, openStore, storePaths } from '../store.ts'

/** What a migration did, or would do. A database without tables has the version 0. */
export interface Migration {
  /** What was migrated, such as the path of the file. */
  readonly database: string
  readonly from: number
  readonly to: number
}

/**
 * Brings the database of the settings to the format of this version. Undefined when there is no database yet. With `dryRun`, it changes
 * nothing and returns what it would do. The tables of a PostgreSQL database are migrated only by this function, because several servers may
 * use them. An SQLite file belongs to one machine, so opening it migrates it in one transaction.
 */
export async function migrateStore(settings: StoreSettings, { dryRun = false } = {}): Promise<Migration | undefined> {
  if (settings.databaseUrl !== undefined) {
    const { migratePostgres } = await import('../../adapters/store/postgres/store.ts')
    return { database: 'PostgreSQL', ...(await migratePostgres(databaseOptions(settings, settings.databaseUrl), { dryRun })) }
  }
  const { file } = storePaths(settings)
  if (!existsSync(file)) return undefined
  const { formatsOf } = await import('../../adapters/store/sqlite/open.ts')
  const { found, current } = formatsOf(file)
  if (!dryRun) await (await openStore(settings)).close()
  return { database: file, from: found, to: current }
}

/** Checks for `daybook doctor` whether the Redis server of the settings works. Undefined if no Redis server is set. */
export async function describeRelay(
  settings: StoreSettings,
): Promise<{ readonly ok: boolean; readonly found: string; readonly advice?: string } | undefined> {
  if (settings.redisUrl === undefined) return undefined
  const { describeRedis, redisAdvice } = await import('../../adapters/relay/redis.ts')
  try {
    const { version } = await describeRedis(settings.redisUrl)
    const found = `Redis ${version}`
    if (settings.databaseUrl !== undefined) return { ok: true, found }
    return { ok: true, found: `${found}, not used without a database`, advice: 'set DAYBOOK_DATABASE_URL too, or remove DAYBOOK_REDIS_URL' }
  } catch (error) {
    const advice = redisAdvice(error)
    return { ok: false, found: `Redis: ${errorMessage(error)}`, ...(advice !== undefined && { advice }) }
  }
}

/**
 * Finds out for `daybook doctor` which version the PostgreSQL server of the settings has, and whether its tables can be used. Undefined if
 * no database is set. Nothing is created.
 */
export async function describeDatabase(
  settings: StoreSettings,
): Promise<{ readonly ok: boolean; readonly found: string; readonly advice?: string } | undefined> {
  if (settings.databaseUrl === undefined) return undefined
  const { describePostgres } = await import('../../adapters/store/postgres/store.ts')
  const { SCHEMA_VERSION } = await import('../../adapters/store/postgres/schema/schema.ts')
  const described = await describePostgres(databaseOptions(settings, settings.databaseUrl))
  const { version, tables, maxConnections, isPooled, hasNotices } = described
  const server = `PostgreSQL ${version}${isPooled ? ' behind a connection pooler' : ''}`
  if (Number.parseInt(version, 10) < 15) return { ok: false, found: server, advice: 'install PostgreSQL 15 or newer' }
  const own = settings.databaseConnections ?? 10
  if (settings.databaseListenUrl !== undefined && !hasNotices) {
    const advice = 'databaseListenUrl must lead to the same database as databaseUrl, without a pooler'
    return { ok: false, found: `${server}: no notifications arrive at databaseListenUrl`, advice }
  }
  if (own > maxConnections && !isPooled) {
    const advice = 'lower databaseConnections, or raise max_connections of the server'
    return { ok: false, found: `${server} allows ${maxConnections} connections, and the settings ask for ${own}`, advice }
  }
  if (tables === 0) return { ok: true, found: `${server}, nothing stored yet` }
  const isOld = tables < SCHEMA_VERSION
  const found = `${server}, tables of version ${tables}, ${isPooled ? `${own}` : `${own} of ${maxConnections}`} connections`
  return { ok: !isOld, found, ...(isOld && { advice: 'run daybook migrate' }) }
}
