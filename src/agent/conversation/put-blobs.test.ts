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
