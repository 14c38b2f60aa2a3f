import fc from 'fast-check'
import { expect, it } from 'vitest'
import { limitedPieces, piecesOfLength, putPieces } from './byte-pieces.ts'

async function* streamOf(pieces: readonly Uint8Array[], read: number[] = []): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    read.push(piece.length)
    yield piece
  }
}
const allOf = async (pieces: AsyncIterable<Uint8Array>) => {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return all
}

it('cuts a stream into pieces of one length, wherever the stream was cut before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 9 })), fc.integer({ min: 1, max: 7 }), async (pieces, length) => {
      const cut = await allOf(piecesOfLength(streamOf(pieces), length))
      expect(Buffer.concat(cut)).toEqual(Buffer.concat(pieces))
      expect(cut.slice(0, -1).every((piece) => piece.length === length)).toBe(true)
      expect(cut.every((piece) => piece.length > 0 && piece.length <= length)).toBe(true)
    }),
  )
})

it('allows exactly the maximum, and reads nothing after the piece that exceeds it', async () => {
  const pieces = [3, 0, 2, 1, 5].map((length) => new Uint8Array(length))
  expect((await allOf(limitedPieces(streamOf(pieces), 11))).map(({ length }) => length)).toEqual([3, 2, 1, 5])
  const read: number[] = []
  await expect(allOf(limitedPieces(streamOf(pieces, read), 5))).rejects.toMatchObject({
    code: 'file.unsafe',
    details: { reason: 'too_large', maxBytes: 5 },
  })
  expect(read).toEqual([3, 0, 2, 1])
})

it('puts a stream as a whole if a blob store has no streams', async () => {
  const stored: Uint8Array[] = []
  const blobs = {
    async put(bytes: Uint8Array) {
      stored.push(bytes)
      return { sha256: 'hash', size: bytes.length }
    },
  }
  const pieces = [Uint8Array.from([1, 2]), Uint8Array.from([3])]
  expect(await putPieces(blobs, streamOf(pieces))).toEqual({ sha256: 'hash', size: 3 })
  expect(stored).toEqual([Uint8Array.from([1, 2, 3])])
  await expect(putPieces(blobs, streamOf(pieces), { maxBytes: 2 })).rejects.toMatchObject({ code: 'file.unsafe' })
  const putStream = async (_: unknown, options?: object) => ({ sha256: JSON.stringify(options), size: 0 })
  expect((await putPieces({ ...blobs, putStream }, streamOf(pieces), { maxBytes: 2 })).sha256).toBe('{"maxBytes":2}')
})
