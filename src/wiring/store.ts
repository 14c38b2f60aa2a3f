import { join } from 'node:path'
import { createFileBlobs } from '../adapters/blobs/file.ts'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createSystemClock } from '../adapters/clock/system.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import type { PostgresObjects } from '../adapters/store/postgres/blobs/objects.ts'
import { makeFolder } from '../adapters/store/shared/make-folder.ts'
import { storeOptions } from '../agent/agent-options.ts'
import type { Settings } from '../config/settings.ts'
import { errorMessage, Failure, newerNodeText } from '../core/failure.ts'
import { checkOptions } from '../core/options.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hosting } from '../ports/hosting.ts'
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
  /** Whether statements are prepared. Default: `on`, and `off` if the address is that of a connection pooler. */
  readonly databasePrepare?: 'on' | 'off' | undefined
  /**
   * The address of the same database without a pooler. It is used to receive notifications of the database. Needed only if `databaseUrl` is
   * the address of a pooler.
   */
  readonly databaseListenUrl?: string | undefined
  /**
   * The address of a Redis server that carries live events between processes with the same database. By default the database carries them.
   */
  readonly redisUrl?: string | undefined
  /** A bucket of S3 for blobs and hosted files. By default they are stored with the conversations. */
  readonly s3?: BucketOptions
  /** If true, the store is opened read-only when this process may not write to its files. If false (the default), an error is thrown. */
  readonly allowReadOnly?: boolean
}

/** A bucket of S3 or of a compatible server. It is used if `bucket` is set. In this case the two keys are required. */
export interface BucketOptions {
  readonly bucket?: string | undefined
  /** The address of the server. By default the address of Amazon S3 in the region. */
  readonly endpoint?: string | undefined
  /** Default: `us-east-1`. */
  readonly region?: string
  /** `host` for a service that needs the name of the bucket before the host name of `endpoint`. Default: `path`. */
  readonly addressing?: 'path' | 'host'
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
  if (settings.store === 'memory') return openMemoryStore(clock)
  // imported on demand, because most stores have no bucket
  const blobs = settings.s3 && (await import('./bucket.ts')).openBucketBlobs(settings.s3)
  if (settings.databaseUrl !== undefined) {
    const { store, objects } = await openSharedStore(databaseOptions(settings, settings.databaseUrl), blobs, settings.redisUrl)
    return withHosting(store, { s3: settings.s3, objects })
  }
  try {
    makeFolder(settings.data)
  } catch (error) {
    const message = `conversations can not be stored in ${settings.data} (${errorMessage(error)}): choose another folder with --data`
    throw new Failure('store.failed', message, { cause: error })
  }
  // imported on demand, because agents in memory do not need SQLite
  const { createSqliteStore } = await import('../adapters/store/sqlite/store.ts')
  const store = await createSqliteStore({
    ...storePaths(settings),
    ...(blobs && { blobs }),
    clock,
    allowReadOnly: settings.allowReadOnly ?? false,
  })
  return withHosting(store, { s3: settings.s3, folder: join(settings.data, 'hosted') })
}

/** A store in memory. Its hosted files are also in memory. */
export const openMemoryStore = (clock: Clock): ConversationStore =>
  withHosting(createMemoryStore({ blobs: createMemoryBlobs(), clock }), {})

/** Where hosted files are stored: in a bucket, in a database or in a folder. If nothing is set, they are in memory. */
export interface HostingPlace {
  readonly s3?: BucketOptions | undefined
  readonly objects?: PostgresObjects
  readonly folder?: string
}

const places = new WeakMap<ConversationStore, HostingPlace>()

/** Stores the place of the hosted files for a store, so that `hostingOf` finds it. */
function withHosting(store: ConversationStore, place: HostingPlace): ConversationStore {
  places.set(store, place)
  return store
}

/**
 * The hosting that belongs to a store of `openStore`. Undefined for any other store. The code of the hosting is imported when the first
 * file is hosted or read, which keeps the import of Daybook fast.
 */
export function hostingOf(store: ConversationStore): Hosting | undefined {
  const place = places.get(store)
  if (!place) return undefined
  let opened: Promise<Hosting> | undefined
  const open = () => {
    opened ??= import('./hosting.ts').then(({ openHosting }) => openHosting(place, store.blobs))
    return opened
  }
  return {
    host: async (file) => (await open()).host(file),
    resolve: async (handle, viewer) => (await open()).resolve(handle, viewer),
    read: async (file) => (await open()).read(file),
    async *stream(file, range) {
      yield* (await open()).stream(file, range)
    },
    remove: async (owner, conversationId, turnId) => (await open()).remove(owner, conversationId, turnId),
    count: async (owner, conversationId) => (await (await open()).count?.(owner, conversationId)) ?? 0,
    removeFolders: async (owner) => (await open()).removeFolders?.(owner),
  }
}

/** Opens a PostgreSQL database. Its code is imported on demand, because most agents do not need it. */
async function openSharedStore(options: ReturnType<typeof databaseOptions>, blobs: BlobStore | undefined, redisUrl?: string) {
  const { openPostgres } = await import('../adapters/store/postgres/store.ts')
  const relay = redisUrl === undefined ? undefined : await openRedisRelay(redisUrl, options.url)
  const { store, objects } = await openPostgres({
    ...options,
    ...(blobs && { blobs }),
    ...(relay && { relay }),
    clock: createSystemClock(),
  })
  const close = async () => {
    relay?.close()
    await store.close()
  }
  return { store: relay ? { ...store, close } : store, objects }
}

/**
 * Opens a relay over Redis. All servers with the same database share its messages, even if they connect to the database as different users.
 */
async function openRedisRelay(url: string, databaseUrl: string) {
  const { createRedisRelay } = await import('../adapters/relay/redis.ts')
  const { hostname, port, pathname } = new URL(databaseUrl)
  return createRedisRelay({ url, name: `${hostname}:${port || 5432}${pathname}` })
}

/** The options with which the database of the settings is opened. */
export const databaseOptions = (
  settings: Pick<StoreOptions, 'databaseConnections' | 'databasePrepare' | 'databaseListenUrl'>,
  url: string,
) => ({
  url,
  ...(settings.databaseConnections !== undefined && { maxConnections: settings.databaseConnections }),
  ...(settings.databasePrepare !== undefined && { prepare: settings.databasePrepare === 'on' }),
  ...(settings.databaseListenUrl !== undefined && { listenUrl: settings.databaseListenUrl }),
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
  if (Number.parseInt(node, 10) < 24) throw new Error(`daybook needs Node 24 or newer; this is v${node}: ${newerNodeText}`)
}
