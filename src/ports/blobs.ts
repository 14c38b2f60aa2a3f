import type { BlobRef } from '../core/block/index.ts'

/** Stores bytes under their SHA-256 and never changes them. Every implementation passes testing/conformance/blobs.ts. */
export interface BlobStore {
  /** Stores bytes. They are durable when the promise resolves. Equal bytes are stored once. */
  put(bytes: Uint8Array): Promise<BlobRef>
  /** Throws `blob.missing` when there is no such blob, and `blob.damaged` when the bytes do not match their hash. */
  get(sha256: string): Promise<Uint8Array>
  has(sha256: string): Promise<boolean>
  /** Removes a blob if it exists. The caller has to make sure that no entry refers to the blob. */
  remove(sha256: string): Promise<void>
}
