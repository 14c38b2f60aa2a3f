import { describe, expect, it } from 'vitest'
import { describeStore } from '../../testing/conformance/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createMemoryStore } from './memory.ts'

describeStore({ describe, it, expect }, 'the memory store', async () => {
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  return { store: createMemoryStore({ blobs, clock }), clock, blobs }
})
