import { createHash } from 'node:crypto'
import { Failure } from '../../core/failure.ts'
import type { BlobStore } from '../../ports/blobs.ts'

/** For tests and for agents that need no tomorrow. */
export function createMemoryBlobs(): BlobStore {
  const held = new Map<string, Uint8Array>()
  return {
    async put(bytes) {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      if (!held.has(sha256)) held.set(sha256, Uint8Array.from(bytes))
      return { sha256, size: bytes.length }
    },
    async get(sha256) {
      const bytes = held.get(sha256)
      if (!bytes) throw new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
      return Uint8Array.from(bytes) // the caller may do with it what it likes
    },
    async has(sha256) {
      return held.has(sha256)
    },
    async remove(sha256) {
      held.delete(sha256)
    },
  }
}
