import type { BlobRef } from '../core/block/index.ts'

/** Stores bytes under their SHA-256 and never changes them. Every implementation passes testing/conformance/blobs.ts. */
export interface BlobStore {
  /** Stores bytes. They are durable when the promise resolves. Equal bytes are stored once. */
  put(bytes: Uint8Array): Promise<BlobRef>
  /** Throws `blob.missing` when there is no such blob, and `blob.damaged` when the bytes do not match their hash. */
  get(sha256: string): Promise<Uint8Array>
  /**
   * Yields the bytes in pieces of at most 256 KiB. A piece is read when the caller takes it, so a large blob is never in memory as a whole.
   * Without a range, it yields all bytes, and it checks the hash before it yields the last piece. The hash of a range can not be checked.
   * Throws `blob.missing` as `get` does, and `blob.damaged` also when fewer than `blob.size` bytes are stored.
   */
  stream(blob: BlobRef, range?: ByteRange): AsyncIterable<Uint8Array>
  has(sha256: string): Promise<boolean>
  /** Removes a blob if it exists. The caller has to make sure that no entry refers to the blob. */
  remove(sha256: string): Promise<void>
  /**
   * Checks whether a blob can be stored now. If not, it throws `store.failed`. A blob store that can not check this may leave the function
   * out.
   */
  check?(): Promise<void>
}

/** A part of a blob: the bytes from `start` up to, but not including, `end`. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** A blob with the time of its last put. */
export interface StoredBlob extends BlobRef {
  /** When the blob was last put, in epoch milliseconds. */
  readonly putAt: number
}

/** A blob store that can list its blobs. Callers use the list to find and remove blobs to which no entry refers. */
export interface ListedBlobs extends BlobStore {
  /** Lists all blobs. */
  list(): Promise<readonly StoredBlob[]>
  /** Removes a blob if its last put was before `before`, in epoch milliseconds. Returns whether the blob was removed. */
  removeIfPutBefore(sha256: string, before: number): Promise<boolean>
  /** Removes the parts of large blobs that a process began to put before `before` and did not finish, if the store keeps such parts. */
  removeUnfinished?(before: number): Promise<void>
}
