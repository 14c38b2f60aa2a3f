import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../../test/support/postgres.ts'
import type { ListedBlobs } from '../../../../ports/blobs.ts'
import { prompt } from '../../../../testing/blocks.ts'
import { appended, owner } from '../../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../../blobs/memory.ts'
import { openBlobSweep } from '../blobs/removal.ts'
import { createPostgresStore } from '../store.ts'

const BLOBS = 60
const large = (n: number) => prompt(`${n} ${'x'.repeat(9_000)}`)
const bytes = (n: number) => Buffer.from(`blob ${n}`)

/** Blobs whose removal takes some time, as in a bucket. `onRemove` runs before each removal. */
function slowBlobs() {
  const memory = createMemoryBlobs()
  const state = { removed: 0, running: 0, most: 0, onRemove: async () => {} }
  const remove = async (sha256: string) => {
    state.running++
    state.most = Math.max(state.most, state.running)
    try {
      await state.onRemove()
      await sleep(30)
      await memory.remove(sha256)
      state.removed++
    } finally {
      state.running--
    }
  }
  const blobs: ListedBlobs = {
    ...memory,
    remove,
    list: async () => [],
    removeIfPutBefore: async (sha256) => {
      await remove(sha256)
      return true
    },
  }
  return { blobs, state }
}

describe.skipIf(!hasPostgres)('while blobs are removed', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
  })
  afterAll(() => server?.stop())
  let schemas = 0

  /** Two stores. When the first blob is removed, the other store begins an append with a blob. */
  async function open() {
    const { blobs, state } = slowBlobs()
    const options = { url: server?.url ?? '', schema: `test_${++schemas}`, maxConnections: 3 }
    const openStore = async () => {
      const store = await createPostgresStore({ ...options, clock: createFixedClock(), blobs })
      opened.push(store)
      return store
    }
    const [store, other] = [await openStore(), await openStore()]
    const claim = await other.claim('kept', owner('b'))
    const appending = Promise.withResolvers<number>()
    state.onRemove = async () => {
      state.onRemove = async () => {}
      other.append(claim, [appended([large(1_000)])]).then(() => appending.resolve(state.removed), appending.reject)
      await sleep(300) // the append now waits for the lock
    }
    return { store, blobs, state, options, removedBeforeAppend: appending.promise }
  }

  async function writeDoomed({ store }: Pick<Awaited<ReturnType<typeof open>>, 'store'>) {
    const claim = await store.claim('doomed', owner('a'))
    for (let n = 0; n < BLOBS; n++) await store.append(claim, [appended([large(n)], n + 1)])
    await store.release(claim)
  }

  it('another conversation can append during a deletion, and the blobs of a step are removed at the same time', async () => {
    const opened = await open()
    await writeDoomed(opened)
    await opened.store.delete('doomed')
    expect(await opened.removedBeforeAppend).toBeLessThan(BLOBS / 2)
    expect(opened.state).toMatchObject({ removed: BLOBS, most: 16 })
  })

  it('another conversation can append while `releaseBlobs` removes many blobs', async () => {
    const { store, blobs, state, removedBeforeAppend } = await open()
    const refs = await Promise.all(Array.from({ length: BLOBS }, (_, n) => blobs.put(bytes(n))))
    await store.releaseBlobs(refs)
    expect(await removedBeforeAppend).toBeLessThan(BLOBS / 2)
    expect(state.removed).toBe(BLOBS)
  })

  it('another conversation can append during a sweep', async () => {
    const { blobs, state, options, removedBeforeAppend } = await open()
    const refs = await Promise.all(Array.from({ length: BLOBS }, (_, n) => blobs.put(bytes(n))))
    const sweep = await openBlobSweep(options, blobs)
    const candidates = refs.map((ref) => ({ ...ref, putAt: 0 }))
    expect(await sweep.removeUnreferenced(candidates, (sha256) => blobs.removeIfPutBefore(sha256, 1))).toEqual(candidates)
    await sweep.close()
    expect(await removedBeforeAppend).toBeLessThan(BLOBS / 2)
    expect(state.removed).toBe(BLOBS)
  })

  it('a deletion fails only after all running removals have ended, and is finished later', async () => {
    const opened = await open()
    await writeDoomed(opened)
    const { store, state } = opened
    let calls = 0
    state.onRemove = async () => {
      if (++calls === 3) throw new Error('the bucket does not respond')
    }
    await expect(store.delete('doomed')).rejects.toThrow('the bucket does not respond')
    expect(state).toMatchObject({ running: 0, removed: 15 })
    expect(await store.finishDeletions({ owner: owner('a') })).toEqual(['doomed'])
    expect(state.removed).toBe(15 + BLOBS)
  })

  it('released blobs that could not be removed are removed later', async () => {
    const { store, blobs, state } = await open()
    const ref = await blobs.put(bytes(1))
    state.onRemove = async () => {
      throw new Error('the bucket does not respond')
    }
    await expect(store.releaseBlobs([ref])).rejects.toThrow('the bucket does not respond')
    state.onRemove = async () => {}
    await store.finishDeletions()
    expect(await blobs.has(ref.sha256)).toBe(false)
  })
})
