import { createMemoryBlobs } from 'daybook/adapters/blobs'
import { createMemoryStore } from 'daybook/adapters/store/memory'
import { createFixedClock, describeStore } from 'daybook/testing'
import { describe, expect, it } from 'vitest'
import { auditedStore } from './own-store.ts'

// The suite checks every promise of the interface: leases, order, atomic commits, search, deletion and more.
describeStore({ describe, it, expect }, 'the audited store', async () => {
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  return { store: auditedStore(createMemoryStore({ blobs, clock }), () => {}), clock, blobs }
})
