import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { type Draft, turnHeaderBlock } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { assignIds, emptyTimeline } from '../../core/timeline/timeline.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { type Changes, openLedger } from './ledger.ts'

async function openMemoryLedger(fail: () => boolean = () => false) {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() })
  const claim = await store.claim('c1', { id: 'me', host: 'here', pid: 1 })
  const failing = {
    append: (...args: Parameters<typeof store.append>) =>
      fail() ? Promise.reject(new Failure('store.failed', 'the disk is full')) : store.append(...args),
  }
  return openLedger({ timeline: emptyTimeline(), lastSeq: 0 }, claim, failing, () => {})
}

const append =
  (draft: Draft): Changes =>
  (timeline) => [{ type: 'blocks.appended', blocks: assignIds(timeline, [draft]) }]

const header = append(turnHeaderBlock('t1', '2026-01-01T00:00:00.000Z'))

it('rejects every commit after the store has failed, even if the store works again', async () => {
  let full = true
  const ledger = await openMemoryLedger(() => full)
  await expect(ledger.commit(header)).rejects.toThrow('the disk is full')
  full = false
  await expect(ledger.commit(header)).rejects.toThrow('the disk is full')
  expect(ledger.timeline.size).toBe(0)
})

it('rejects every commit after the store has thrown synchronously', async () => {
  let full = true
  const ledger = await openMemoryLedger(() => {
    if (full) throw new Failure('store.failed', 'the disk is full')
    return false
  })
  const first = ledger.commit(header)
  full = false
  await expect(first).rejects.toThrow('the disk is full')
  await expect(ledger.commit(header)).rejects.toThrow('the disk is full')
})

it('accepts a store that returns its entries synchronously', async () => {
  const change = { type: 'title.set', ts: '2026-01-01T00:00:00.000Z', title: 'A title' } as const
  const store = { append: () => [{ seq: 1, change }] } as unknown as Parameters<typeof openLedger>[2]
  const claim = {
    conversationId: 'c1',
    ownerId: 'me',
    epoch: 1,
    expiresAt: '2026-01-01T00:00:00.000Z',
    found: { epoch: 0, lastSeq: 0, offers: 0 },
  }
  const ledger = openLedger({ timeline: emptyTimeline(), lastSeq: 0 }, claim, store, () => {})
  await ledger.commit([change])
  expect(ledger).toMatchObject({ lastSeq: 1, timeline: { title: 'A title' } })
})

it('accepts commits after the function that makes the changes has thrown: the journal is intact', async () => {
  const ledger = await openMemoryLedger()
  const faulty = ledger.commit(() => {
    throw new TypeError('a bug')
  })
  const next = ledger.commit(header)
  await expect(faulty).rejects.toThrow('a bug')
  await next
  expect(ledger.timeline.size).toBe(1)
})

it('accepts commits after the store has rejected invalid changes', async () => {
  const ledger = await openMemoryLedger()
  const unserialisable = { ...turnHeaderBlock('t1', '2026-01-01T00:00:00.000Z'), meta: { n: 1n } } as unknown as Draft
  await expect(ledger.commit(append(unserialisable))).rejects.toThrow('JSON')
  await ledger.commit(header)
  expect(ledger.timeline.size).toBe(1)
})
