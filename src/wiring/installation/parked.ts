import { existsSync } from 'node:fs'
import { openStoreToRead, type StoreSettings } from '../storage.ts'
import { databaseOptions, storePaths } from '../store.ts'

/**
 * How many conversations of the store are parked. Undefined when there is no store of the current version. Nothing is created or migrated.
 */
export async function countParked(settings: StoreSettings): Promise<number | undefined> {
  if (settings.store === 'memory' || !(await isCurrent(settings))) return undefined
  const store = await openStoreToRead(settings)
  try {
    return (await store.work.summary()).parked
  } finally {
    await store.close()
  }
}

async function isCurrent(settings: StoreSettings): Promise<boolean> {
  if (settings.databaseUrl !== undefined) {
    const { describePostgres } = await import('../../adapters/store/postgres/store.ts')
    const { SCHEMA_VERSION } = await import('../../adapters/store/postgres/schema/schema.ts')
    return (await describePostgres(databaseOptions(settings, settings.databaseUrl))).tables === SCHEMA_VERSION
  }
  const { file } = storePaths(settings)
  if (!existsSync(file)) return false
  const { formatsOf } = await import('../../adapters/store/sqlite/open.ts')
  const { found, current } = formatsOf(file)
  return found === current
}
