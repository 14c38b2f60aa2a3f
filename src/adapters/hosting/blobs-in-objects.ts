import { createHash } from 'node:crypto'
import { Failure } from '../../core/failure.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { ObjectStore } from './objects.ts'

/**
 * Stores blobs as objects with keys such as `daybook/blobs/ab/abcdef…`. Objects are never partial, so an existing object is not sent
 * again.
 */
export function createObjectBlobs({ objects }: { readonly objects: ObjectStore }): BlobStore {
  return {
    async put(bytes) {
      const copy = Uint8Array.from(bytes) // a copy, because the caller may modify the bytes before they are sent
      const sha256 = sha256Of(copy)
      if (!(await objects.exists(keyOf(sha256)))) await objects.put(keyOf(sha256), copy)
      return { sha256, size: copy.length }
    },
    async get(sha256) {
      const bytes = isHash(sha256) ? await objects.get(keyOf(sha256)) : undefined
      if (!bytes) throw new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
      if (sha256Of(bytes) !== sha256) {
        throw new Failure('blob.damaged', `the bytes of blob ${sha256} are no longer those that were put`, { details: { sha256 } })
      }
      return bytes
    },
    has: async (sha256) => isHash(sha256) && objects.exists(keyOf(sha256)),
    async remove(sha256) {
      if (isHash(sha256)) await objects.delete(keyOf(sha256))
    },
  }
}

const keyOf = (sha256: string) => `daybook/blobs/${sha256.slice(0, 2)}/${sha256}`
const isHash = (sha256: string) => /^[0-9a-f]{64}$/.test(sha256)
const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
