import type { BlobRef } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import type { Change } from '../../../core/timeline/change.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import { hasInlineBytes, referencedBlobs, storeInlineBytes } from '../shared/validation/validate.ts'

/** Counts how many changes refer to each blob, and removes blobs to which no change refers any more. */
export function createBlobReferences(blobs: BlobStore) {
  const counts = new Map<string, number>() // by hash
  const hashesIn = (changes: readonly Change[]) => changes.flatMap((change) => [...referencedBlobs(change)])

  return {
    /**
     * Stores the inline bytes of blocks as blobs and returns the changes with references to these blobs. Throws `blob.missing` when a block
     * refers to a blob that does not exist.
     */
    async prepare(changes: readonly Change[]): Promise<readonly Change[]> {
      const prepared = hasInlineBytes(changes) ? (await storeInlineBytes(changes, blobs)).changes : changes
      for (const sha256 of hashesIn(prepared)) {
        if (!(await blobs.has(sha256)))
          throw new Failure('blob.missing', `a block refers to blob ${sha256}, which is not in the blob store: put it first`)
      }
      return prepared
    },

    add(changes: readonly Change[]): void {
      for (const sha256 of hashesIn(changes)) counts.set(sha256, (counts.get(sha256) ?? 0) + 1)
    },

    /** The hashes to pass to `remove` when these changes are removed. A hash occurs once for each change that refers to it. */
    hashesIn,

    /**
     * Removes one reference for each hash, and the blobs that have no references left. Returns how many blobs were removed. Each hash is
     * taken out of the list when its reference was removed, so that the call can be repeated with the same list after a failure.
     */
    async remove(hashes: string[]): Promise<number> {
      let removed = 0
      for (let sha256 = hashes.at(-1); sha256 !== undefined; sha256 = hashes.at(-1)) {
        const others = (counts.get(sha256) ?? 1) - 1
        if (others > 0) counts.set(sha256, others)
        else {
          await blobs.remove(sha256)
          counts.delete(sha256)
          removed += 1
        }
        hashes.pop()
      }
      return removed
    },

    has: (sha256: string): boolean => counts.has(sha256),

    async removeUnused(refs: readonly BlobRef[]): Promise<void> {
      for (const { sha256 } of refs) if (!counts.has(sha256)) await blobs.remove(sha256)
    },
  }
}
