import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createFileBlobs } from '../adapters/blobs/file.ts'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createSystemClock } from '../adapters/clock/system.ts'
import { createDiskFiles } from '../adapters/files/disk.ts'
import { createMemoryFiles } from '../adapters/files/memory.ts'
import { removeFolder } from '../adapters/files/remove-folder.ts'
import { createTemporaryFolder } from '../adapters/files/temporary.ts'
import { createObjectBlobs } from '../adapters/hosting/blobs-in-objects.ts'
import { createFileObjects } from '../adapters/hosting/file-objects.ts'
import { createHosting } from '../adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../adapters/hosting/memory-objects.ts'
import { type ObjectStore, uriMapping, withCheckedKeys } from '../adapters/hosting/objects.ts'
import { createS3Objects } from '../adapters/hosting/s3-objects.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import { makeFolder } from '../adapters/store/sqlite/make-folder.ts'
import { createCustomWorkspaces, createMemoryWorkspaces } from '../adapters/workspace/custom/custom.ts'
import { storeOptions } from '../agent/agent-options.ts'
import type { Settings } from '../config/settings.ts'
import { errorMessage, Failure } from '../core/failure.ts'
import { checkOptions } from '../core/options.ts'
import type { BlobStore, ListedBlobs } from '../ports/blobs.ts'
import type { Hosting } from '../ports/hosting.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'

export type StoreSettings = Pick<Settings, 'data' | 'store' | 'workspace' | 'workspaceRemote'> &
  Partial<Pick<Settings, 'databaseUrl' | 's3'>>

/** Options of `openStore`: where conversations are stored. */
export interface StoreOptions {
  /** The folder of the store. It is created if it does not exist. Not used with `memory`. */
  readonly data: string
  /** Default: `sqlite`. */
  readonly store?: 'sqlite' | 'memory'
  /** The address of a PostgreSQL database. If it is set, conversations and their blobs are stored there, and not in `data`. */
  readonly databaseUrl?: string | undefined
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
  const blobs = openBucketBlobs(settings.s3)
  if (settings.databaseUrl !== undefined) return (await openSharedStore(settings.databaseUrl, blobs)).store
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
async function openSharedStore(url: string, blobs: BlobStore | undefined) {
  const { openPostgres } = await import('../adapters/store/postgres/store.ts')
  return openPostgres({ url, ...(blobs && { blobs }), clock: createSystemClock() })
}

/** The blobs in the bucket of the settings. Undefined when no bucket is set. */
export function openBucketBlobs(s3: BucketOptions | undefined): ListedBlobs | undefined {
  const objects = openBucket(s3)
  return objects && createObjectBlobs({ objects })
}

/** The bucket of the settings. Undefined when none is set. Throws `RangeError` when the settings lack something. */
export function openBucket({ bucket, endpoint, region = 'us-east-1', ...rest }: BucketOptions = {}): ObjectStore | undefined {
  const { accessKeyId, secretAccessKey, prefix, sessionToken } = rest
  const names = Object.entries({ endpoint, ...rest }).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (bucket === undefined && names.length > 0) throw new RangeError(`s3.${names[0]} is set, but s3.bucket is not: set DAYBOOK_S3_BUCKET`)
  if (bucket === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new RangeError('s3.bucket needs credentials: set DAYBOOK_S3_ACCESS_KEY_ID and DAYBOOK_S3_SECRET_ACCESS_KEY')
  return createS3Objects({
    bucket,
    endpoint: endpoint ?? `https://s3.${region}.amazonaws.com`,
    region,
    accessKeyId,
    secretAccessKey,
    ...(prefix !== undefined && { prefix }),
    ...(sessionToken !== undefined && { sessionToken }),
  })
}

/** Opens a store, and the hosting whose files are stored beside it. `open` opens a store that is not a database of a server. */
export async function openStorage(
  settings: StoreSettings,
  open: (settings: StoreSettings) => Promise<ConversationStore> = openStore,
): Promise<{ readonly store: ConversationStore; readonly hosting: Hosting }> {
  if (settings.databaseUrl === undefined || settings.store === 'memory') {
    const store = await open(settings)
    return { store, hosting: openHosting(settings, store.blobs) }
  }
  const bucket = openBucket(settings.s3)
  const { store, objects } = await openSharedStore(settings.databaseUrl, bucket && createObjectBlobs({ objects: bucket }))
  const inDatabase = { ...uriMapping('postgres:///'), ...withCheckedKeys(objects) }
  return { store, hosting: createHosting({ objects: bucket ?? inDatabase, blobs: store.blobs }) }
}

/** Opens a store that may be read-only. If there is no database yet, the store is empty, and no folder is made for it. */
export function openStoreToRead(settings: StoreSettings): Promise<ConversationStore> {
  if (settings.databaseUrl !== undefined) return openStore(settings)
  const folder = statSync(settings.data, { throwIfNoEntry: false })
  const nothingStored = !folder || (folder.isDirectory() && !statSync(storePaths(settings).file, { throwIfNoEntry: false }))
  return openStore({ ...settings, ...(nothingStored && { store: 'memory' }), allowReadOnly: true })
}

/** Where the database and the blobs of the data folder are. */
export const storePaths = ({ data }: Pick<Settings, 'data'>) => ({
  file: join(data, 'daybook.db'),
  blobs: createFileBlobs({ folder: join(data, 'blobs') }),
})

/**
 * Opens the workspaces of all conversations. With the store `sqlite` their folders are in `data`, and with `memory` they are in memory.
 * `blobs` must be the blobs of the same store.
 */
export async function openWorkspaces(settings: StoreSettings, blobs: BlobStore): Promise<Workspaces> {
  const { data, store, workspace, workspaceRemote: remote } = settings
  if (store === 'memory') {
    if (workspace === 'git') throw new RangeError('workspace=git needs files on disk: set store=sqlite, or workspace=custom')
    return createMemoryWorkspaces({ blobs, ...memoryFolders })
  }
  const root = resolve(data, 'workspaces')
  const folders = {
    openFiles: (folder: string) => createDiskFiles({ folder: join(root, folder) }),
    removeFiles: (folder: string) => removeFolder(join(root, folder)),
    pathOf: (folder: string) => join(root, folder),
  }
  if (workspace === 'custom') return createCustomWorkspaces({ ...folders, blobs })
  const { createGitWorkspaces } = await import('../adapters/workspace/git/git.ts')
  return createGitWorkspaces({ ...folders, root, blobs, ...(remote !== undefined && { remote }) })
}

export const memoryFolders = { createFiles: createMemoryFiles, openTemporary: createTemporaryFolder }

function openHosting({ data, store, s3 }: StoreSettings, blobs: BlobStore): Hosting {
  if (store === 'memory') return createHosting({ objects: createMemoryObjects(), blobs })
  const objects = openBucket(s3) ?? createFileObjects({ files: createDiskFiles({ folder: join(data, 'hosted') }) })
  return createHosting({ objects, blobs })
}

/**
 * Throws if Node is too old. An older Node lacks functions that Daybook calls, so calls would fail later with errors that do not name the
 * cause. npm also leaves out optional packages that need a newer Node.
 */
export function checkNode(): void {
  const { node } = process.versions
  if (Number.parseInt(node, 10) < 24) throw new Error(`daybook needs Node 24 or newer; this is v${node}`)
}
