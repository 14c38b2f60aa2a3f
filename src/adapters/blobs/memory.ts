import { createHash } from 'node:crypto'
import type { BlobRef } from '../../core/block/index.ts'
import { joinedPieces, limitedPieces } from '../../core/collections/byte-pieces.ts'
import { Failure } from '../../core/failure.ts'
import type { BlobStore, StreamingBlobs } from '../../ports/blobs.ts'

const PIECE_BYTES = 64 * 1024

/** A blob store in memory, for tests and for agents whose conversations need not outlive the process. */
export function createMemoryBlobs(): StreamingBlobs<BlobStore> {
  const contents = new Map<string, Uint8Array>()

  function keep(copy: Uint8Array): BlobRef {
    const sha256 = createHash('sha256').update(copy).digest('hex')
    if (!contents.has(sha256)) contents.set(sha256, copy)
    return { sha256, size: copy.length }
  }

  return {
    put: async (bytes) => keep(Uint8Array.from(bytes)),
    async putStream(pieces, { maxBytes } = {}) {
      return keep(await joinedPieces(limitedPieces(pieces, maxBytes)))
    },
    async get(sha256) {
      const bytes = contents.get(sha256)
      if (!bytes) throw new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
      return Uint8Array.from(bytes) // a copy, because the caller may modify it
    },
    async *stream({ sha256, size }, { start, end } = { start: 0, end: size }) {
      const bytes = contents.get(sha256)
      if (!bytes) throw new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
      if (bytes.length !== size) throw new Failure('blob.damaged', `blob ${sha256} does not have ${size} bytes`, { details: { sha256 } })
      for (let at = start; at < end; at += PIECE_BYTES) yield bytes.slice(at, Math.min(at + PIECE_BYTES, end))
    },
    async has(sha256) {
      return contents.has(sha256)
    },
    async remove(sha256) {
      contents.delete(sha256)
    },
  }
}
