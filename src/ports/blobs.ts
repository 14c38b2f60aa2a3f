import type { BlobRef } from '../core/block/index.ts'

/** Keeps bytes under their own SHA-256. Nothing is ever changed in place. Every implementation passes testing/conformance/blobs.ts. */
export interface BlobStore {
  /** Durable before it resolves. The same bytes twice are one blob. */
  put(bytes: Uint8Array): Promise<BlobRef>
  /** The very bytes that were put. `blob.missing` when they are not there, `blob.damaged` when they no longer match their hash. */
  get(sha256: string): Promise<Uint8Array>
  has(sha256: string): Promise<boolean>
  /** Nothing happens when it is not there. Who may still need it is the caller's business. */
  remove(sha256: string): Promise<void>
}
