import { existsSync } from 'node:fs'
import type { Settings } from '../config.ts'
import type { BlobRef } from '../core/block/index.ts'
import { storePaths } from './store.ts'

/** The number and total size of blobs to which no journal entry refers. */
export interface UnreferencedBlobs {
  readonly blobs: number
  readonly bytes: number
}

/**
 * How old a blob to which no entry refers must be before it may be removed. A blob is stored before the entry that refers to it. This entry
 * may follow only at the end of the turn, perhaps hours later. No turn takes a day.
 */
const UNREFERENCED_BLOB_GRACE_MS = 24 * 3_600_000

/**
 * Counts the blobs to which no entry refers. A process that dies may leave such blobs. `old` blobs were stored more than a day ago and may
 * be removed. `young` blobs may still be needed. Returns undefined when there is no database.
 */
export async function findUnreferencedBlobs(
  settings: Pick<Settings, 'data'>,
): Promise<{ readonly old: UnreferencedBlobs; readonly young: UnreferencedBlobs } | undefined> {
  const { file, blobs } = storePaths(settings)
  if (!existsSync(file)) return undefined
  const { findUnreferenced } = await import('../adapters/store/sqlite/remove.ts')
  // listed before the entries are read: a blob that is stored in between is not in the list, and so not reported
  const stored = await blobs.list()
  const before = Date.now() - UNREFERENCED_BLOB_GRACE_MS
  const unreferenced = Object.groupBy(findUnreferenced(file, stored), ({ putAt }) => (putAt < before ? 'old' : 'young'))
  return { old: countOf(unreferenced.old), young: countOf(unreferenced.young) }
}

/** Removes the blobs to which no entry refers and which are older than a day. Servers may use the same store meanwhile. */
export async function sweepUnreferencedBlobs(settings: Pick<Settings, 'data'>): Promise<UnreferencedBlobs> {
  const { file, blobs } = storePaths(settings)
  if (!existsSync(file)) return countOf([])
  const { sweepUnreferenced, findUnreferenced } = await import('../adapters/store/sqlite/remove.ts')
  const before = Date.now() - UNREFERENCED_BLOB_GRACE_MS
  const old = (await blobs.list()).filter(({ putAt }) => putAt < before)
  const removed = await sweepUnreferenced(file, findUnreferenced(file, old), (sha256) => blobs.removeIfPutBefore(sha256, before))
  return countOf(removed)
}

const countOf = (blobs: readonly BlobRef[] = []): UnreferencedBlobs => ({
  blobs: blobs.length,
  bytes: blobs.reduce((sum, { size }) => sum + size, 0),
})
