import { openDatabase } from './sqlite/database.ts'
import { withReadOnly } from './sqlite/open.ts'
import { translateSqliteError } from './sqlite-failure.ts'

/**
 * A blob is put before the entry that refers to it, so a process that dies in between leaves one that nobody will ever ask for. Which
 * they are only the database knows, and how old only the blob store: age is what tells them from those whose entry is still to come.
 */

const FIND_REFERENCE = 'SELECT 1 FROM blob_refs WHERE sha256 = ? LIMIT 1'

/** Nothing is written, also not to a file of an older version. */
export function findUnreferenced<Blob extends { readonly sha256: string }>(file: string, blobs: readonly Blob[]): readonly Blob[] {
  try {
    return withReadOnly(file, (database) => {
      const referred = database.prepare(FIND_REFERENCE)
      return blobs.filter(({ sha256 }) => referred.get(sha256) === undefined)
    })
  } catch (error) {
    throw translateSqliteError(error, file)
  }
}

/** So many at a time: whoever wants to append waits while they go. */
const SWEEP_BATCH = 64

/** Under the lock of appends, which look for their blobs under it too: what is referred to stays, whoever wrote it and when. */
export async function sweepUnreferenced<Blob extends { readonly sha256: string }>(
  file: string,
  suspects: readonly Blob[],
  remove: (sha256: string) => Promise<boolean>,
): Promise<readonly Blob[]> {
  const database = await openDatabase(file)
  try {
    const referred = database.writing(FIND_REFERENCE)
    const removed: Blob[] = []
    for (let from = 0; from < suspects.length; from += SWEEP_BATCH) {
      await database.write(async () => {
        for (const blob of suspects.slice(from, from + SWEEP_BATCH)) {
          if (referred.get(blob.sha256) === undefined && (await remove(blob.sha256))) removed.push(blob)
        }
      })
    }
    return removed
  } finally {
    await database.close()
  }
}
