import { existsSync } from 'node:fs'
import type { BlobRef } from '../../core/block/index.ts'
import type { ListedBlobs, StoredBlob } from '../../ports/blobs.ts'
import { openBucketBlobs } from '../bucket.ts'
import type { StoreSettings } from '../storage.ts'
import { databaseOptions, type StoreOptions, storePaths } from '../store.ts'

/** The number and total size of blobs to which no journal entry refers. */
export interface UnreferencedBlobs {
  readonly blobs: number
  readonly bytes: number
}

/**
 * How old a blob to which no entry refers must be before it may be removed. A blob is stored before the entry that refers to it. The entry
 * may be appended as late as the end of the turn, perhaps hours after the blob. Daybook assumes that this takes less than a day.
 */
const UNREFERENCED_BLOB_GRACE_MS = 24 * 3_600_000

/** The blobs of a store, and functions that compare them with its entries. */
interface Sweep {
  readonly blobs: ListedBlobs
  /** Returns the blobs of this list to which no entry refers. */
  findUnreferenced(blobs: readonly StoredBlob[]): Promise<readonly StoredBlob[]>
  /** Removes the candidates to which no entry refers, and returns them. Appends wait during the removal. */
  removeUnreferenced(candidates: readonly StoredBlob[], remove: RemoveBlob): Promise<readonly StoredBlob[]>
}
type RemoveBlob = (sha256: string) => Promise<boolean>

/**
 * Counts the blobs to which no entry refers. A process that dies may leave such blobs. `old` blobs were stored more than a day ago and may
 * be removed. `young` blobs may still be needed. Returns undefined when there is no database.
 */
export async function findUnreferencedBlobs(
  settings: SweepSettings,
): Promise<{ readonly old: UnreferencedBlobs; readonly young: UnreferencedBlobs } | undefined> {
  return withSweep(settings, async ({ blobs, findUnreferenced }) => {
    // the blobs are listed before the entries are read. So a blob that is stored in between is not reported
    const stored = await blobs.list()
    const before = Date.now() - UNREFERENCED_BLOB_GRACE_MS
    const unreferenced = Object.groupBy(await findUnreferenced(stored), ({ putAt }) => (putAt < before ? 'old' : 'young'))
    return { old: countOf(unreferenced.old), young: countOf(unreferenced.young) }
  })
}

/**
 * Removes the blobs to which no entry refers and which are older than `graceMs`, by default a day. Servers may use the same store
 * meanwhile.
 */
export async function sweepUnreferencedBlobs(
  settings: SweepSettings,
  { graceMs = UNREFERENCED_BLOB_GRACE_MS } = {},
): Promise<UnreferencedBlobs> {
  const removed = await withSweep(settings, async ({ blobs, findUnreferenced, removeUnreferenced }) => {
    const before = Date.now() - graceMs
    await blobs.removeUnfinished?.(before)
    const old = await findUnreferenced((await blobs.list()).filter(({ putAt }) => putAt < before))
    return removeUnreferenced(old, (sha256) => blobs.removeIfPutBefore(sha256, before))
  })
  return countOf(removed)
}

type SweepSettings = Pick<StoreSettings, 'data'> &
  Pick<StoreOptions, 'databaseUrl' | 'databaseConnections' | 'databasePrepare' | 'databaseListenUrl' | 's3'>

/** Opens the store of the settings for a sweep. Undefined when there is no database. */
async function withSweep<T>(settings: SweepSettings, work: (sweep: Sweep) => Promise<T>): Promise<T | undefined> {
  const inBucket = openBucketBlobs(settings.s3)
  if (settings.databaseUrl !== undefined) {
    const { openBlobSweep } = await import('../../adapters/store/postgres/blobs/removal.ts')
    const { close, ...sweep } = await openBlobSweep(databaseOptions(settings, settings.databaseUrl), inBucket)
    return work(sweep).finally(close)
  }
  const { file, blobs } = storePaths(settings)
  if (!existsSync(file)) return undefined
  const { sweepUnreferenced, findUnreferenced } = await import('../../adapters/store/sqlite/removal/remove.ts')
  return work({
    blobs: inBucket ?? blobs,
    findUnreferenced: async (stored) => findUnreferenced(file, stored),
    removeUnreferenced: (candidates, remove) => sweepUnreferenced(file, candidates, remove),
  })
}

const countOf = (blobs: readonly BlobRef[] = []): UnreferencedBlobs => ({
  blobs: blobs.length,
  bytes: blobs.reduce((sum, { size }) => sum + size, 0),
})
