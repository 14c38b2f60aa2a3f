import type { BlobRef } from '../../core/block/index.ts'
import type { BlobStore, ByteRange } from '../../ports/blobs.ts'
import { describeStreamedPuts } from './streamed-puts.ts'
import type { TestRunner } from './test-runner.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'

/** Options of `describeBlobs`. */
export interface BlobSuiteOptions {
  /** Whether the store has its blobs in memory. If so, the memory that it uses for a large stream is not tested. */
  readonly inMemory?: boolean
}

/** The tests that every `BlobStore` must pass. `create` makes an empty store for each test. */
export function describeBlobs(runner: TestRunner, name: string, create: () => Promise<BlobStore>, options: BlobSuiteOptions = {}): void {
  const { describe, it, expect } = runner
  describeStreamedPuts(runner, name, create, options)
  describe(`${name} stores bytes under their SHA-256`, () => {
    it('returns the SHA-256 and size of the bytes, and reads the same bytes back', async () => {
      const blobs = await create()
      expect(await blobs.put(bytes('abc'))).toEqual({ sha256: abc, size: 3 })
      expect([...(await blobs.get(abc))]).toEqual([...bytes('abc')])
      expect(await blobs.has(abc)).toBe(true)
    })

    it('stores an empty blob, all 256 byte values and a large blob', async () => {
      const blobs = await create()
      for (const content of [new Uint8Array(), Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array(300_000).fill(7)]) {
        const { sha256, size } = await blobs.put(content)
        expect(size).toBe(content.length)
        expect(Buffer.compare(await blobs.get(sha256), content)).toBe(0)
      }
    })

    it('stores the same bytes as one blob, even when they are put concurrently', async () => {
      const blobs = await create()
      const refs = await Promise.all(Array.from({ length: 8 }, () => blobs.put(bytes('abc'))))
      expect(new Set(refs.map(({ sha256 }) => sha256)).size).toBe(1)
      await blobs.remove(abc)
      expect(await blobs.has(abc)).toBe(false)
    })

    it('keeps the stored bytes when the caller modifies the array that it put or the array that it read', async () => {
      const blobs = await create()
      const mine = bytes('abc')
      await blobs.put(mine)
      mine.fill(0)
      ;(await blobs.get(abc)).fill(0)
      expect([...(await blobs.get(abc))]).toEqual([...bytes('abc')])
    })

    it('rejects reading a blob that was never put or was removed, and allows removing it twice', async () => {
      const blobs = await create()
      await expect(blobs.get(abc)).rejects.toMatchObject({ code: 'blob.missing' })
      await blobs.put(bytes('abc'))
      await blobs.remove(abc)
      await blobs.remove(abc)
      await expect(blobs.get(abc)).rejects.toMatchObject({ code: 'blob.missing' })
    })

    it('streams all bytes or a range of them, in pieces', async () => {
      const blobs = await create()
      const content = Uint8Array.from({ length: 700_000 }, (_, index) => index % 253)
      const blob = await blobs.put(content)
      const read = async (range?: ByteRange) => {
        const pieces: Uint8Array[] = []
        for await (const piece of blobs.stream(blob, range)) pieces.push(piece)
        expect(pieces.every(({ length }) => length > 0 && length <= 256 * 1024)).toBe(true)
        return Buffer.concat(pieces)
      }
      expect(Buffer.compare(await read(), content)).toBe(0)
      const ranges = [
        { start: 0, end: 1 },
        { start: 699_999, end: 700_000 },
        { start: 65_535, end: 65_537 },
        { start: 0, end: 700_000 },
        { start: 1, end: 600_001 },
        { start: 5, end: 5 },
      ]
      for (const range of ranges) expect(Buffer.compare(await read(range), content.subarray(range.start, range.end))).toBe(0)
      const empty = await blobs.put(new Uint8Array())
      for await (const _ of blobs.stream(empty)) expect('an empty blob has no pieces').toBe('')
    })

    it('can stop streaming at any piece, and keeps the stored bytes when the caller modifies a piece', async () => {
      const blobs = await create()
      const blob = await blobs.put(new Uint8Array(300_000).fill(7))
      for await (const piece of blobs.stream(blob)) {
        piece.fill(0)
        break
      }
      expect((await blobs.get(blob.sha256)).every((byte) => byte === 7)).toBe(true)
      await blobs.remove(blob.sha256)
    })

    it('rejects streaming a blob that is missing, and one that does not have the given size or hash', async () => {
      const blobs = await create()
      const first = (blob: BlobRef, range?: ByteRange) => blobs.stream(blob, range)[Symbol.asyncIterator]().next()
      const missing = { code: 'blob.missing' }
      for (const sha256 of [abc, '', '../../etc/passwd']) {
        await expect(first({ sha256, size: 3 })).rejects.toMatchObject(missing)
        await expect(first({ sha256, size: 3 }, { start: 1, end: 2 })).rejects.toMatchObject(missing)
        await expect(first({ sha256, size: 0 })).rejects.toMatchObject(missing)
      }
      await blobs.put(bytes('abc'))
      await expect(first({ sha256: abc, size: 4 })).rejects.toMatchObject({ code: 'blob.damaged' })
      await expect(first({ sha256: abc, size: 4 }, { start: 2, end: 4 })).rejects.toMatchObject({ code: 'blob.damaged' })
    })

    it('treats a name that is not a SHA-256 as a missing blob', async () => {
      const blobs = await create()
      for (const name of ['', '..', '../../etc/passwd', `${abc}x`, abc.toUpperCase(), `${'a'.repeat(63)}/`]) {
        expect(await blobs.has(name)).toBe(false)
        await expect(blobs.get(name)).rejects.toMatchObject({ code: 'blob.missing' })
        await blobs.remove(name)
      }
    })
  })
}
