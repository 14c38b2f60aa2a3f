import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Change } from '../../../core/timeline/change.ts'
import { LEASE_MS } from '../../../ports/store.ts'
import type { LivePublished } from '../event-hub.ts'
import type { LiveBatch, LiveRequest } from './messages.ts'
import { createLiveReceiver, type LiveReceiver } from './receiver.ts'

const event = (epoch: number, number: number, { text = `${epoch}.${number} `, seq = 1, iteration = 0 } = {}): LivePublished => {
  const delta = { marker: 'answer', format: 'markdown', index: number - 1, text, completed: false } as const
  return { event: { type: 'lane.delta', turn_id: 't1', iteration, attempt: 0, delta }, seq, epoch, number }
}
const batch = (epoch: number, after: number, events: readonly LivePublished[], last = events.at(-1)?.number ?? after): LiveBatch => ({
  conversationId: 'c1',
  epoch,
  after,
  last,
  events,
})
const decision: Change = {
  type: 'blocks.appended',
  blocks: [{ id: 'b_1', type: 'assistant.completion', author: 'assistant', turn_id: 't1', ts: 't', text: 'Done.' }],
}

const opened: LiveReceiver[] = []
afterEach(() => {
  for (const receiver of opened.splice(0)) receiver.close()
})

function open() {
  const requests: LiveRequest[] = []
  const ends: string[] = []
  const receiver = createLiveReceiver({ position: () => undefined }, (asked, ended) => {
    requests.push(...asked)
    ends.push(...ended)
  })
  opened.push(receiver)
  const join = (after = 1, active = true) => {
    const texts: string[] = []
    const follower = receiver.join(
      'c1',
      { after, active },
      ({ event }) => void texts.push(event.type === 'lane.delta' ? event.delta.text : '~'),
    )
    return { texts, ...follower }
  }
  return { receiver, requests, ends, join }
}

it('asks for the events of a conversation, and asks again from the last event if a batch is missing', async () => {
  const { receiver, requests, join } = open()
  const { texts } = join()
  await expect.poll(() => requests).toEqual([{ conversationId: 'c1', epoch: 0, number: 0 }])
  receiver.onBatches([batch(4, 0, [event(4, 1), event(4, 2)])])
  receiver.onBatches([batch(4, 3, [event(4, 4)])])
  expect(texts).toEqual(['4.1 ', '4.2 '])
  await expect.poll(() => requests.at(-1)).toEqual({ conversationId: 'c1', epoch: 4, number: 2 })
  receiver.onBatches([batch(4, 2, [event(4, 3), event(4, 4)]), batch(4, 2, [event(4, 3)])])
  expect(texts).toEqual(['4.1 ', '4.2 ', '4.3 ', '4.4 '])
})

it('takes nothing from a process that has lost the conversation to another one', () => {
  const { receiver, join } = open()
  const { texts } = join()
  receiver.onBatches([batch(4, 0, [event(4, 1)]), batch(5, 0, [event(5, 1)]), batch(4, 1, [event(4, 2)]), batch(5, 1, [event(5, 2)])])
  expect(texts).toEqual(['4.1 ', '5.1 ', '5.2 '])
})

it('gives the beginning of a response to a follower that joins later, and nothing of a response whose entry is stored', () => {
  const { receiver, join } = open()
  const first = join()
  receiver.onBatches([batch(4, 0, [event(4, 1), event(4, 2)])])
  expect(join().texts).toEqual(['4.1 ', '4.2 '])
  first.onEntry({ seq: 2, change: decision })
  expect(join(2).texts).toEqual([])
})

it('asks again instead of giving old events to a follower that has later entries than it knows', async () => {
  const { receiver, requests, join } = open()
  join()
  receiver.onBatches([batch(4, 0, [event(4, 1)])])
  const later = join(7)
  expect(later.texts).toEqual([])
  await expect.poll(() => requests.at(-1)).toEqual({ conversationId: 'c1', epoch: 0, number: 0 })
  receiver.onBatches([batch(4, 0, [event(4, 5, { seq: 7, iteration: 1 })])])
  expect(later.texts).toEqual(['4.5 '])
})

it('asks for nothing while no turn is open, and asks when one begins', async () => {
  const { requests, join } = open()
  const follower = join(3, false)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(requests).toEqual([])
  follower.onEntry({ seq: 4, change: { type: 'turn.opened', turn_id: 't2', ts: 't' } })
  await expect.poll(() => requests.length).toBe(1)
})

it('shows no more of a response that is too long to keep, because a later follower would miss its beginning', () => {
  const { receiver, join } = open()
  const first = join()
  const half = 'x'.repeat(2.5 * 1024 * 1024)
  receiver.onBatches([batch(4, 0, [event(4, 1, { text: half }), event(4, 2, { text: half }), event(4, 3)])])
  expect(first.texts.map((text) => text.length)).toEqual([half.length])
  expect(join().texts).toEqual([])
  receiver.onBatches([batch(4, 3, [event(4, 4, { iteration: 1 })])])
  expect(first.texts.at(-1)).toBe('4.4 ')
})

it('says when the last follower has left, if a process sends events to it', async () => {
  const { receiver, ends, join } = open()
  const [one, two] = [join(), join()]
  receiver.onBatches([batch(4, 0, [event(4, 1)])])
  one.leave()
  two.leave()
  await expect.poll(() => ends).toEqual(['c1'])
})

describe('a running turn', () => {
  afterEach(() => void vi.useRealTimers())

  it('is requested again and again, even if it follows another turn and its live events arrive before its entries', async () => {
    vi.useFakeTimers()
    const { receiver, requests, join } = open()
    const follower = join(3)
    receiver.onBatches([batch(4, 0, [event(4, 1, { seq: 3 })])])
    follower.onEntry({ seq: 5, change: { type: 'turn.closed', turn_id: 't1', exit_reason: 'completed', ts: 't' } as Change })
    await vi.advanceTimersByTimeAsync(20_000)
    const before = requests.length
    receiver.onBatches([batch(5, 0, [event(5, 1, { seq: 6 })])])
    follower.onEntry({ seq: 6, change: { type: 'turn.opened', turn_id: 't2', ts: 't' } })
    await vi.advanceTimersByTimeAsync(11_000)
    expect(requests.length).toBeGreaterThanOrEqual(before + 2)
    expect(requests.at(-1)).toEqual({ conversationId: 'c1', epoch: 5, number: 1 })
  })

  it('is still requested when the lease of a dead process has ended, and seldom after that', async () => {
    vi.useFakeTimers()
    const { receiver, requests, join } = open()
    const follower = join()
    await vi.advanceTimersByTimeAsync(10)
    // After this batch the process dies, and another process continues the turn without writing an entry.
    receiver.onBatches([batch(4, 0, [event(4, 1)])])
    await vi.advanceTimersByTimeAsync(LEASE_MS)
    const before = requests.length
    await vi.advanceTimersByTimeAsync(6_000)
    expect(requests.length).toBeGreaterThan(before)
    receiver.onBatches([batch(5, 0, [event(5, 1)])])
    expect(follower.texts).toEqual(['4.1 ', '5.1 '])
    const answered = requests.length
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(requests.length - answered).toBeGreaterThan(60)
    expect(requests.length - answered).toBeLessThan(140)
  })

  it('is requested again and again, even if only a follower that joins has read its entries', async () => {
    vi.useFakeTimers()
    const { receiver, requests, join } = open()
    join(3, false)
    join(6)
    await vi.advanceTimersByTimeAsync(10)
    receiver.onBatches([batch(5, 0, [event(5, 1, { seq: 6 })])])
    const before = requests.length
    await vi.advanceTimersByTimeAsync(11_000)
    expect(requests.length).toBeGreaterThanOrEqual(before + 2)
  })
})
