import { createHash } from 'node:crypto'
import { Failure } from '../../core/failure.ts'
import type { BlobStore } from '../../ports/blobs.ts'

/** A blob store in memory, for tests and for agents whose conversations need not outlive the process. */
export function createMemoryBlobs(): BlobStore {
  const contents = new Map<string, Uint8Array>()
  return {
    async put(bytes) {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      if (!contents.has(sha256)) contents.set(sha256, Uint8Array.from(bytes))
      return { sha256, size: bytes.length }
    },
    async get(sha256) {
      const bytes = contents.get(sha256)
      if (!bytes) throw new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
      return Uint8Array.from(bytes) // a copy, because the caller may modify it
    },
    async has(sha256) {
      return contents.has(sha256)
    },
    async remove(sha256) {
      contents.delete(sha256)
    },
  }
}
