import type { BlobStore } from '../../ports/blobs.ts'
import type { TestRunner } from './test-runner.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'

/** The tests that every `BlobStore` must pass. `create` makes an empty store for each test. */
export function describeBlobs({ describe, it, expect }: TestRunner, name: string, create: () => Promise<BlobStore>): void {
  describe(`${name} keeps bytes under their own hash`, () => {
    it('gives back the very bytes that were put, under their SHA-256 and size', async () => {
      const blobs = await create()
      expect(await blobs.put(bytes('abc'))).toEqual({ sha256: abc, size: 3 })
      expect([...(await blobs.get(abc))]).toEqual([...bytes('abc')])
      expect(await blobs.has(abc)).toBe(true)
    })

    it('keeps every byte, none, and many', async () => {
      const blobs = await create()
      for (const content of [new Uint8Array(), Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array(300_000).fill(7)]) {
        const { sha256, size } = await blobs.put(content)
        expect(size).toBe(content.length)
        expect(Buffer.compare(await blobs.get(sha256), content)).toBe(0)
      }
    })

    it('takes the same bytes twice as one blob, even at once', async () => {
      const blobs = await create()
      const refs = await Promise.all(Array.from({ length: 8 }, () => blobs.put(bytes('abc'))))
      expect(new Set(refs.map(({ sha256 }) => sha256)).size).toBe(1)
      await blobs.remove(abc)
      expect(await blobs.has(abc)).toBe(false)
    })

    it('does not change when the caller changes what it put or what it got', async () => {
      const blobs = await create()
      const mine = bytes('abc')
      await blobs.put(mine)
      mine.fill(0)
      ;(await blobs.get(abc)).fill(0)
      expect([...(await blobs.get(abc))]).toEqual([...bytes('abc')])
    })

    it('says that a blob is missing, never put or removed; removing it again is nothing', async () => {
      const blobs = await create()
      await expect(blobs.get(abc)).rejects.toMatchObject({ code: 'blob.missing' })
      await blobs.put(bytes('abc'))
      await blobs.remove(abc)
      await blobs.remove(abc)
      await expect(blobs.get(abc)).rejects.toMatchObject({ code: 'blob.missing' })
    })

    it('knows no blob by a name that is not a hash', async () => {
      const blobs = await create()
      for (const name of ['', '..', '../../etc/passwd', `${abc}x`, abc.toUpperCase(), `${'a'.repeat(63)}/`]) {
        expect(await blobs.has(name)).toBe(false)
        await expect(blobs.get(name)).rejects.toMatchObject({ code: 'blob.missing' })
        await blobs.remove(name)
      }
    })
  })
}
