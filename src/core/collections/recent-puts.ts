import { joined } from './byte-pieces.ts'

/** Returns the bytes of a blob that this process has put a short time ago. */
export interface RecentPuts {
  /** Undefined for a blob that was not put recently. The caller of `put` may have modified the bytes, so check their hash. */
  recentlyPut(sha256: string): Uint8Array | undefined
}

/** The memory that the remembered blobs of one blob store may take. */
const MAX_BYTES = 32 * 1024 * 1024

/** A stream with more bytes is not remembered, because remembering it needs as much memory as the whole content. */
const MAX_STREAM_BYTES = 8 * 1024 * 1024

/** The functions of a blob store that are changed to remember blobs. */
interface Puts {
  put(bytes: Uint8Array): Promise<{ readonly sha256: string }>
  putStream(pieces: AsyncIterable<Uint8Array>, options?: { readonly maxBytes?: number }): Promise<{ readonly sha256: string }>
}

/**
 * Adds `recentlyPut` to a blob store. A blob is put before an entry refers to it. Meanwhile the deletion of another conversation, possibly
 * by another process, may remove the blob. The append then stores the remembered bytes again. A blob larger than `maxBytes` is not
 * remembered.
 */
export function rememberPuts<Blobs extends Puts>(blobs: Blobs, maxBytes = MAX_BYTES): Blobs & RecentPuts {
  const recent = new Map<string, Uint8Array>() // the oldest put is the first
  let total = 0

  function forget(sha256: string): void {
    total -= memoryOf(recent.get(sha256))
    recent.delete(sha256)
  }

  function remember(sha256: string, bytes: Uint8Array): void {
    forget(sha256)
    if (memoryOf(bytes) > maxBytes) return
    recent.set(sha256, bytes)
    total += memoryOf(bytes)
    for (const oldest of recent.keys()) {
      if (total <= maxBytes) break
      forget(oldest)
    }
  }

  const put = async (bytes: Uint8Array) => {
    const ref = await blobs.put(bytes)
    remember(ref.sha256, bytes)
    return ref
  }
  const putStream: Puts['putStream'] = async (pieces, options) => {
    let kept: Uint8Array[] | undefined = []
    let size = 0
    async function* remembering(): AsyncGenerator<Uint8Array> {
      for await (const piece of pieces) {
        size += piece.length
        if (size > MAX_STREAM_BYTES) kept = undefined
        kept?.push(Uint8Array.from(piece)) // a copy, because the caller may use the memory of a piece again
        yield piece
      }
    }
    const ref = await blobs.putStream(remembering(), options)
    if (kept) remember(ref.sha256, joined(kept))
    return ref
  }
  return { ...blobs, put, putStream, recentlyPut: (sha256) => recent.get(sha256) }
}

/** How much memory an array keeps in use. A part of a larger buffer keeps the whole buffer. */
const memoryOf = (bytes: Uint8Array | undefined): number => bytes?.buffer.byteLength ?? 0
