import type { BlobRef } from '../core/block/index.ts'

/** Stores bytes under their SHA-256 and never changes them. Every implementation passes testing/conformance/blobs.ts. */
export interface BlobStore {
  /** Stores bytes. They are durable when the promise resolves. Equal bytes are stored once. */
  put(bytes: Uint8Array): Promise<BlobRef>
  /**
   * Stores the bytes of a stream, as `put` does. The pieces may have any length, and at most a few of them are in memory at the same time.
   * If the stream throws, nothing is stored, and the error of the stream is thrown. A store that can not do this leaves the function out:
   * `putPieces` (core/collections/byte-pieces.ts) then puts the whole content.
   */
  putStream?(pieces: AsyncIterable<Uint8Array>, options?: PutStreamOptions): Promise<BlobRef>
  /** Throws `blob.missing` when there is no such blob, and `blob.damaged` when the bytes do not match their hash. */
  get(sha256: string): Promise<Uint8Array>
  /**
   * Yields the bytes in pieces of at most 256 KiB. Bytes are read as the caller takes the pieces, so at most a few MiB of a large blob are in memory.
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

/** Options of `putStream`. */
export interface PutStreamOptions {
  /** A stream with more bytes throws `file.unsafe` with the reason `too_large`, as soon as this is known. Default: no limit. */
  readonly maxBytes?: number
}

/** A part of a blob: the bytes from `start` up to, but not including, `end`. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** A blob store that has `putStream`, as those of Daybook have. */
export type StreamingBlobs<Blobs extends BlobStore> = Blobs & Required<Pick<BlobStore, 'putStream'>>

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
  /** Removes what is left of puts that began before `before` and that a process did not finish, if the store keeps such parts. */
  removeUnfinished?(before: number): Promise<void>
}
