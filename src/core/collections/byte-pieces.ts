import type { BlobRef } from '../block/index.ts'
import { Failure } from '../failure.ts'

/**
 * Yields the pieces of a stream that are not empty. Throws `file.unsafe` with the reason `too_large` as soon as the stream has more than
 * `maxBytes` bytes, and then reads no further piece.
 */
export async function* limitedPieces(pieces: AsyncIterable<Uint8Array>, maxBytes = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > maxBytes)
      throw new Failure('file.unsafe', `the content has more than ${maxBytes} bytes`, { details: { reason: 'too_large', maxBytes } })
    if (piece.length > 0) yield piece
  }
}

/** Yields the bytes of a stream in pieces of `length` bytes. The last piece may be shorter. Each piece is a copy, which the caller may keep. */
export async function* piecesOfLength(pieces: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array> {
  let piece = new Uint8Array(length)
  let filled = 0
  for await (const bytes of pieces) {
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + length - filled)
      piece.set(part, filled)
      filled += part.length
      at += part.length
      if (filled < length) continue
      yield piece
      piece = new Uint8Array(length)
      filled = 0
    }
  }
  if (filled > 0) yield piece.subarray(0, filled)
}

type PutStream = (pieces: AsyncIterable<Uint8Array>, options?: { readonly maxBytes?: number }) => Promise<BlobRef>

/** Stores a stream as a blob, with `putStream`, or as a whole if the blob store lacks this function. */
export async function putPieces(
  blobs: { put(bytes: Uint8Array): Promise<BlobRef>; readonly putStream?: PutStream },
  pieces: AsyncIterable<Uint8Array>,
  options: { readonly maxBytes?: number } = {},
): Promise<BlobRef> {
  if (blobs.putStream) return blobs.putStream(pieces, options)
  return blobs.put(await joinedPieces(limitedPieces(pieces, options.maxBytes)))
}

/** All bytes of a stream. */
export async function joinedPieces(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const copies: Uint8Array[] = [] // copies, because the source may use the memory of a piece again
  for await (const piece of pieces) copies.push(Uint8Array.from(piece))
  return joined(copies)
}

/** The pieces as one array. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}
