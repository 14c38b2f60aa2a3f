import { createHash } from 'node:crypto'
import { Failure } from '../../core/failure.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { ObjectStore } from './objects.ts'

/** Blobs as objects with keys like `daybook/blobs/ab/abcdef…`. An existing object is always complete, so that it is not sent again. */
export function createObjectBlobs({ objects }: { readonly objects: ObjectStore }): BlobStore {
  return {
    async put(bytes) {
      const copy = Uint8Array.from(bytes) // the caller may change the bytes meanwhile
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
