import { join } from 'node:path'
import { createFileBlobs } from '../adapters/blobs/file.ts'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createSystemClock } from '../adapters/clock/system.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import { makeFolder } from '../adapters/store/shared/make-folder.ts'
import { storeOptions } from '../agent/agent-options.ts'
import type { Settings } from '../config/settings.ts'
import { errorMessage, Failure } from '../core/failure.ts'
import { checkOptions } from '../core/options.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { ConversationStore } from '../ports/store.ts'

/** Options of `openStore`: where conversations are stored. */
export interface StoreOptions {
  /** The folder of the store. It is created if it does not exist. Not used with `memory`. */
  readonly data: string
  /** Default: `sqlite`. */
  readonly store?: 'sqlite' | 'memory'
  /** The address of a PostgreSQL database. If it is set, conversations and their blobs are stored there, and not in `data`. */
  readonly databaseUrl?: string | undefined
  /** How many connections to the database are open at most. Default: 10. */
  readonly databaseConnections?: number | undefined
  /** `off` for a connection pooler that does not allow prepared statements. Default: `on`. */
  readonly databasePrepare?: 'on' | 'off' | undefined
  /** A bucket of S3 for blobs. By default they are stored beside the conversations. */
  readonly s3?: BucketOptions
  /**
   * What happens if this process may not write to the files of the store. If true, the store is opened for reading only. By default an
   * error is thrown.
   */
  readonly allowReadOnly?: boolean
}

/** A bucket of S3 or of a compatible server. It is used if `bucket` is set, and then needs the two keys. */
export interface BucketOptions {
  readonly bucket?: string | undefined
  /** The address of the server. By default that of Amazon S3 in the region. */
  readonly endpoint?: string | undefined
  /** Default: `us-east-1`. */
  readonly region?: string
  /** A text such as `team/daybook` that is put before every key. */
  readonly prefix?: string | undefined
  readonly accessKeyId?: string | undefined
  readonly secretAccessKey?: string | undefined
  readonly sessionToken?: string | undefined
}

/**
 * Opens a store of conversations. With `sqlite`, the store is a database file and a folder of blobs in `data`. With `memory`, conversations
 * are lost when the process ends. With `databaseUrl`, the store is a PostgreSQL database.
 */
export async function openStore(settings: StoreOptions): Promise<ConversationStore> {
  checkNode()
  checkOptions('openStore', settings, storeOptions)
  const clock = createSystemClock()
  if (settings.store === 'memory') return createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const blobs = settings.s3 && (await import('./bucket.ts')).openBucketBlobs(settings.s3) // most stores have no bucket
  if (settings.databaseUrl !== undefined) return (await openSharedStore(databaseOptions(settings, settings.databaseUrl), blobs)).store
  try {
    makeFolder(settings.data)
  } catch (error) {
    const message = `conversations can not be stored in ${settings.data} (${errorMessage(error)}): choose another folder with --data`
    throw new Failure('store.failed', message, { cause: error })
  }
  // imported on demand, because agents in memory do not need SQLite
  const { createSqliteStore } = await import('../adapters/store/sqlite/store.ts')
  return createSqliteStore({ ...storePaths(settings), ...(blobs && { blobs }), clock, allowReadOnly: settings.allowReadOnly ?? false })
}

/** Opens a PostgreSQL database. It is imported on demand, because other agents do not need it. */
export async function openSharedStore(options: ReturnType<typeof databaseOptions>, blobs: BlobStore | undefined) {
  const { openPostgres } = await import('../adapters/store/postgres/store.ts')
  return openPostgres({ ...options, ...(blobs && { blobs }), clock: createSystemClock() })
}

/** How a database of the settings is opened. */
export const databaseOptions = (settings: Pick<StoreOptions, 'databaseConnections' | 'databasePrepare'>, url: string) => ({
  url,
  ...(settings.databaseConnections !== undefined && { maxConnections: settings.databaseConnections }),
  prepare: settings.databasePrepare !== 'off',
})

/** Where the database and the blobs of the data folder are. */
export const storePaths = ({ data }: Pick<Settings, 'data'>) => ({
  file: join(data, 'daybook.db'),
  blobs: createFileBlobs({ folder: join(data, 'blobs') }),
})

/**
 * Throws if Node is too old. An older Node lacks functions that Daybook calls, so calls would fail later with errors that do not name the
 * cause. npm also leaves out optional packages that need a newer Node.
 */
export function checkNode(): void {
  const { node } = process.versions
  if (Number.parseInt(node, 10) < 24) throw new Error(`daybook needs Node 24 or newer; this is v${node}`)
}
