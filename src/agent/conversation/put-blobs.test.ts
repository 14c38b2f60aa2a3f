import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createPutBlobs } from './put-blobs.ts'

async function* pieces(...all: readonly string[]) {
  for (const piece of all) yield Buffer.from(piece)
}

it('remembers the blobs that were put as a whole and as a stream', async () => {
  const { blobs, refs } = createPutBlobs(createMemoryBlobs())
  const first = await blobs.put(Buffer.from('a'))
  const second = await blobs.putStream?.(pieces('b', 'c'))
  expect(refs()).toEqual([first, second])
  expect(Buffer.from(await blobs.get(second?.sha256 ?? '')).toString()).toBe('bc')
})

it('ends a stream that waits for its next piece when it is closed, and stores nothing later', async () => {
  const store = createMemoryBlobs()
  const { blobs, refs, close } = createPutBlobs(store)
  const waiting = Promise.withResolvers<void>()
  async function* endless() {
    yield Buffer.from('a')
    waiting.resolve()
    await new Promise<never>(() => {})
  }
  const putting = blobs.putStream?.(endless())
  putting?.catch(() => {}) // checked below
  await waiting.promise
  await close()
  await expect(putting).rejects.toMatchObject({ code: 'store.closed' })
  await expect(blobs.putStream?.(pieces('b'))).rejects.toMatchObject({ code: 'store.closed' })
  await expect(blobs.put(Buffer.from('b'))).rejects.toMatchObject({ code: 'store.closed' })
  expect(refs()).toEqual([])
})

it('keeps no piece of a stream in memory', async () => {
  const store = {
    ...createMemoryBlobs(),
    async putStream(stream: AsyncIterable<Uint8Array>) {
      for await (const _piece of stream); // the bytes are dropped
      return { sha256: 'a'.repeat(64), size: 0 }
    },
  }
  async function* large() {
    for (let n = 0; n < 100; n++) yield new Uint8Array(1024 * 1024)
  }
  const { blobs, close } = createPutBlobs(store)
  const before = bufferBytes()
  await blobs.putStream?.(large())
  // the memory of buffers may be released a little later than the buffers are collected
  await expect.poll(() => bufferBytes() - before, { timeout: 10_000 }).toBeLessThan(20 * 1024 * 1024)
  await close()
})

function bufferBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().arrayBuffers
}
