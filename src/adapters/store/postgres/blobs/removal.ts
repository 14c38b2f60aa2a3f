import { setTimeout as sleep } from 'node:timers/promises'
import type { ListedBlobs, StoredBlob } from '../../../../ports/blobs.ts'
import { type DatabaseOptions, openDatabase, type Queries } from '../database.ts'
import { type BlobsWithin, createPostgresBlobs, postgresBlobsWithin } from './blobs.ts'

/**
 * How many blobs one transaction removes. Appends with blobs, also those of other tenants, wait during the transaction, so the number is
 * small.
 */
export const BLOBS_PER_STEP = 16

/** How many blobs are compared with the references in one statement. */
const BLOBS_PER_QUERY = 500

/** Waits between two transactions that remove blobs. Meanwhile appends with blobs need not wait. */
export const pauseBetweenSteps = () => sleep(20)

/** Removes blobs in a transaction that has taken the lock of blobs exclusively. Blobs outside of the database are removed at the same time. */
export async function removeBlobs(queries: Queries, blobsWithin: BlobsWithin, hashes: readonly string[]): Promise<void> {
  if (blobsWithin === postgresBlobsWithin) await queries.run('DELETE FROM blobs WHERE sha256 = ANY ($1::text[])', [hashes])
  else await whenAllEnded(hashes.map((sha256) => blobsWithin(queries).remove(sha256)))
}

/**
 * Waits until all removals have ended, even if one fails. The transaction then still has the lock of blobs. A removal that ran on without
 * the lock could remove a blob to which a new entry refers.
 */
async function whenAllEnded<T>(removals: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(removals)
  return Promise.all(removals)
}

/**
 * Finds and removes blobs to which no entry refers. `given` are the blobs of the store if they are not in the database. Servers may use the
 * store at the same time: a removal takes the lock of blobs exclusively, so appends with blobs wait for it.
 */
export async function openBlobSweep(options: DatabaseOptions, given: ListedBlobs | undefined) {
  const database = await openDatabase({ ...options, maxConnections: 2 })

  async function unreferencedIn(queries: Pick<Queries, 'all'>, blobs: readonly StoredBlob[]): Promise<readonly StoredBlob[]> {
    const hashes = blobs.map(({ sha256 }) => sha256)
    const rows = await queries.all<{ sha256: string }>('SELECT DISTINCT sha256 FROM blob_refs WHERE sha256 = ANY ($1::text[])', [hashes])
    const referenced = new Set(rows.map(({ sha256 }) => sha256))
    return blobs.filter(({ sha256 }) => !referenced.has(sha256))
  }

  return {
    blobs: given ?? createPostgresBlobs(database),

    async findUnreferenced(blobs: readonly StoredBlob[]): Promise<readonly StoredBlob[]> {
      const found: StoredBlob[] = []
      for (const some of inSteps(blobs, BLOBS_PER_QUERY)) found.push(...(await unreferencedIn(database, some)))
      return found
    },

    async removeUnreferenced(candidates: readonly StoredBlob[], remove: (sha256: string) => Promise<boolean>) {
      const removed: StoredBlob[] = []
      for (const some of inSteps(candidates, BLOBS_PER_STEP)) {
        await database.write(async (queries) => {
          await lockBlobs(queries, 'alone')
          const unreferenced = await unreferencedIn(queries, some)
          const results = await whenAllEnded(unreferenced.map(({ sha256 }) => remove(sha256)))
          removed.push(...unreferenced.filter((_, index) => results[index]))
        })
        await pauseBetweenSteps()
      }
      return removed
    },

    close: () => database.close(),
  }
}

function* inSteps<T>(items: readonly T[], size: number): Iterable<readonly T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}

/** A number that no other program is likely to use as an advisory lock. */
const BLOB_LOCK = 0x64617963

/**
 * Takes the lock of blobs until the transaction ends. Transactions that write references to blobs share it. A transaction that removes
 * blobs takes the lock exclusively. So no blob disappears between the check of an append and its commit.
 */
export async function lockBlobs(queries: Queries, mode: 'shared' | 'alone'): Promise<void> {
  await queries.run(mode === 'shared' ? 'SELECT pg_advisory_xact_lock_shared($1)' : 'SELECT pg_advisory_xact_lock($1)', [BLOB_LOCK])
}
