import { describe, expect, it } from 'vitest'
import { owner } from '../../../testing/conformance/store/fixture.ts'
import { describeStore } from '../../../testing/conformance/store.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import type { IdleJournals } from './idle-journals.ts'
import { createMemoryStore, createPackingStore } from './store.ts'

describeStore({ describe, it, expect }, 'the memory store', async () => {
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  return { store: createMemoryStore({ blobs, clock }), clock, blobs }
})

describeStore({ describe, it, expect }, 'the memory store, with packed journals', async () => {
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  return { store: createPackingStore(blobs, clock, packAll), clock, blobs }
})

/** Packs each journal after every use. */
const packAll: IdleJournals = { rest: ({ journal }) => journal.pack(), forget: () => {} }

it('appends more changes at once than a function call can have arguments', async () => {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() })
  const claim = await store.claim('c1', owner('a'))
  const changes = Array.from({ length: 130_000 }, () => ({ type: 'blocks.revealed' as const, ids: [] }))
  expect((await store.append(claim, changes)).length).toBe(130_000)
})
