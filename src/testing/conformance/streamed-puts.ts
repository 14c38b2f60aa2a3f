import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { putPieces } from '../../core/collections/byte-pieces.ts'
import { Failure } from '../../core/failure.ts'
import type { BlobStore, ListedBlobs } from '../../ports/blobs.ts'
import type { BlobSuiteOptions } from './blobs.ts'
import type { TestRunner } from './test-runner.ts'

const MIB = 1024 * 1024

/** Yields the same memory again and again, each time with other bytes. */
async function* streamOf(size: number, each = MIB, onPiece = (_piece: Uint8Array) => {}): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(each)
  for (let at = 0; at < size; at += each) {
    const piece = memory.subarray(0, Math.min(each, size - at))
    for (let index = 0; index < piece.length; index += 4096) piece[index] = (at / each + index) % 251
    onPiece(piece)
    yield piece
  }
}

async function* brokenAfter(size: number): AsyncGenerator<Uint8Array> {
  yield* streamOf(size)
  throw new Failure('model.unavailable', 'the source of the stream has broken off')
}

async function contentOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const copies: Uint8Array[] = []
  for await (const piece of pieces) copies.push(Uint8Array.from(piece))
  return Buffer.concat(copies)
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const listOf = async (blobs: BlobStore & Partial<ListedBlobs>) => ((await blobs.list?.()) ?? []).map(({ sha256 }) => sha256)

/** The tests of `putStream`, which are a part of `describeBlobs`. */
export function describeStreamedPuts(
  { describe, it, expect }: TestRunner,
  name: string,
  create: () => Promise<BlobStore>,
  { inMemory = false }: BlobSuiteOptions,
): void {
  describe(`${name} stores the bytes of a stream`, () => {
    it('returns the SHA-256 and the size of the stream, however the stream is cut', async () => {
      const blobs = await create()
      for (const [size, each] of [
        ...[[0, 1] as const, [1, 1] as const, [1000, 7] as const, [262_144, 65_536] as const, [262_145, 262_145] as const],
        ...[[700_000, 300_000] as const, [3 * MIB, MIB] as const, [9 * MIB + 1, 5 * MIB] as const],
      ]) {
        const content = await contentOf(streamOf(size, each))
        const blob = await putPieces(blobs, streamOf(size, each))
        expect(blob).toEqual({ sha256: sha256Of(content), size })
        expect(Buffer.compare(await blobs.get(blob.sha256), content)).toBe(0)
        expect(Buffer.compare(await contentOf(blobs.stream(blob)), content)).toBe(0)
      }
    })

    it('stores the same bytes once, whether they are put as a stream or as a whole, and also concurrently', async () => {
      const blobs = await create()
      const content = await contentOf(streamOf(2 * MIB))
      const stream = () => putPieces(blobs, streamOf(2 * MIB))
      const refs = await Promise.all([stream(), blobs.put(content), stream(), stream(), blobs.put(content)])
      refs.push(await stream(), await blobs.put(content))
      const blob = { sha256: sha256Of(content), size: content.length }
      expect(refs).toEqual(refs.map(() => blob))
      // not every store can list its blobs
      expect((await listOf(blobs)).filter((sha256) => sha256 !== blob.sha256)).toEqual([])
      expect(Buffer.compare(await contentOf(blobs.stream(blob)), content)).toBe(0)
      await blobs.remove(blob.sha256)
      expect(await blobs.has(blob.sha256)).toBe(false)
    })

    it('stores nothing and throws the error of the stream if the stream breaks off', async () => {
      const blobs = await create()
      for (const size of [0, 1000, 3 * MIB]) {
        await expect(putPieces(blobs, brokenAfter(size))).rejects.toMatchObject({ code: 'model.unavailable' })
        expect(await blobs.has(sha256Of(await contentOf(streamOf(size))))).toBe(false)
      }
      expect(await listOf(blobs)).toEqual([])
    })

    it('stores nothing and stops reading if the stream has more bytes than `maxBytes`', async () => {
      const blobs = await create()
      let read = 0
      const source = () => streamOf(10 * MIB, MIB, (piece) => (read += piece.length))
      const tooLarge = { code: 'file.unsafe', details: { reason: 'too_large' } }
      await expect(putPieces(blobs, source(), { maxBytes: 3 * MIB })).rejects.toMatchObject(tooLarge)
      expect(read).toBe(4 * MIB)
      expect(await listOf(blobs)).toEqual([])
      const { size } = await putPieces(blobs, source(), { maxBytes: 10 * MIB })
      expect(size).toBe(10 * MIB)
    })

    if (inMemory) return
    it('uses little memory for a stream of 200 MB, if it has streams', async () => {
      const blobs = await create()
      if (!blobs.putStream) return
      const hash = createHash('sha256')
      let [before, peak, pieces] = [0, 0, 0]
      const collectGarbage = garbageCollector()
      const measure = (piece: Uint8Array) => {
        hash.update(piece)
        if (pieces++ % 16 !== 0) return
        collectGarbage()
        const { heapUsed, external } = process.memoryUsage()
        if (pieces === 1) before = heapUsed + external
        peak = Math.max(peak, heapUsed + external - before)
      }
      const blob = await putPieces(blobs, streamOf(200 * MIB, MIB, measure))
      expect(blob).toEqual({ sha256: hash.digest('hex'), size: 200 * MIB })
      expect(peak < 64 * MIB ? 'little' : `${Math.round(peak / MIB)} MiB`).toBe('little')
      let read = 0
      for await (const piece of blobs.stream(blob)) read += piece.length // checks the hash
      expect(read).toBe(200 * MIB)
      await blobs.remove(blob.sha256)
    })
  })
}

/** A function that collects garbage, so that only memory in use is measured. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}
