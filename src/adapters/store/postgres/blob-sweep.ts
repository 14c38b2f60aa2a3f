import type { ListedBlobs, StoredBlob } from '../../../ports/blobs.ts'
import { lockBlobs } from './blob-lock.ts'
import { createPostgresBlobs } from './blobs.ts'
import { type DatabaseOptions, openDatabase, type Queries } from './database.ts'

/** How many blobs are compared or removed in one step. Appends with blobs wait for a removal, so the number is small. */
const BLOBS_PER_STEP = 64

/**
 * Finds and removes blobs to which no entry refers. `given` are the blobs of the store if they are not in the database. Servers may use the
 * store meanwhile: a removal takes the lock of blobs, which appends share.
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
      for (const some of inSteps(blobs)) found.push(...(await unreferencedIn(database, some)))
      return found
    },

    async removeUnreferenced(candidates: readonly StoredBlob[], remove: (sha256: string) => Promise<boolean>) {
      const removed: StoredBlob[] = []
      for (const some of inSteps(candidates)) {
        await database.write(async (queries) => {
          await lockBlobs(queries, 'alone')
          for (const blob of await unreferencedIn(queries, some)) if (await remove(blob.sha256)) removed.push(blob)
        })
      }
      return removed
    },

    close: () => database.close(),
  }
}

function* inSteps<T>(items: readonly T[]): Iterable<readonly T[]> {
  for (let at = 0; at < items.length; at += BLOBS_PER_STEP) yield items.slice(at, at + BLOBS_PER_STEP)
}
