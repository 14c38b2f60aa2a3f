import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LaneEvent, StatusEvent } from '../../../core/event.ts'
import type { LivePublished } from '../event-hub.ts'
import { createTextReader, splitText } from './frames.ts'
import { formatMessage, parseMessage } from './messages.ts'

const lane = fc.record(
  {
    marker: fc.constantFrom('answer', 'thinking'),
    format: fc.constant('markdown' as const),
    index: fc.nat(3),
    text: fc.string({ unit: 'binary' }),
    completed: fc.boolean(),
    artifact_name: fc.constantFrom('a', 'b'),
    internal: fc.constant(true as const),
    extra: fc.record({ execution_id: fc.constantFrom('x', 'y'), sub_type: fc.constant('code_exec.code') }),
  },
  { requiredKeys: ['marker', 'format', 'index', 'text', 'completed'] },
)
const event = fc.oneof(
  fc.record({ type: fc.constant('lane.delta' as const), turn_id: fc.constant('t'), iteration: fc.nat(1), attempt: fc.nat(1), delta: lane }),
  fc.record({
    type: fc.constant('status' as const),
    turn_id: fc.constant('t'),
    iteration: fc.nat(1),
    status: fc.constant('deciding' as const),
  }),
) as fc.Arbitrary<LaneEvent | StatusEvent>

/** A list of events whose numbers rise, and whose deltas often continue a lane. */
const published = fc.array(fc.record({ event, skip: fc.nat(1), seq: fc.nat(1), again: fc.boolean() }), { maxLength: 30 }).map((items) => {
  const list: LivePublished[] = []
  for (const { event, skip, seq, again } of items) {
    const before = list.at(-1)
    const number = (before?.number ?? 0) + 1 + skip
    if (again && before?.event.type === 'lane.delta' && event.type === 'lane.delta') {
      const delta = { ...before.event.delta, index: before.event.delta.index + 1, text: event.delta.text }
      list.push({ event: { ...before.event, delta }, seq: before.seq, epoch: 7, number: before.number + 1 })
    } else list.push({ event, seq, epoch: 7, number })
  }
  return list
})

describe('a message between replicas', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(published, fc.string({ minLength: 1 }), (events, conversationId) => {
        const batch = { conversationId, epoch: 7, after: 0, last: events.at(-1)?.number ?? 0, events }
        const message = { type: 'batches', batches: [batch, batch] } as const
        expect(parseMessage(formatMessage(message))).toEqual(message)
      }),
    )
    const requests = { type: 'requests', requests: [{ conversationId: 'c1', epoch: 3, number: 4 }], ends: ['c2'] } as const
    expect(parseMessage(formatMessage(requests))).toEqual(requests)
  })

  it('sends each piece of an answer as little more than its text', () => {
    const events = Array.from({ length: 1_000 }, (_, index): LivePublished => {
      const delta = { marker: 'answer', format: 'markdown', index, text: 'word ', completed: false } as const
      return { event: { type: 'lane.delta', turn_id: 't1', iteration: 0, attempt: 0, delta }, seq: 3, epoch: 1, number: index + 1 }
    })
    const text = formatMessage({ type: 'batches', batches: [{ conversationId: 'c1', epoch: 1, after: 0, last: 1_000, events }] })
    expect(text.length).toBeLessThan(10 * events.length)
  })

  it('is refused if it has another form, and nothing throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          fc.string(),
          fc.jsonValue().map((value) => JSON.stringify({ type: 'batches', batches: value })),
        ),
        (text) => {
          const parsed = parseMessage(text)
          if (parsed !== undefined) expect(['requests', 'batches', 'connected']).toContain(parsed.type)
        },
      ),
    )
    const wrong = {
      conversation_id: 'c1',
      epoch: 1,
      after: 0,
      last: 1,
      events: [{ number: 1, seq: 1, event: { type: 'entry', seq: 1, change: {} } }],
    }
    expect(parseMessage(JSON.stringify({ type: 'batches', batches: [wrong] }))).toBe(undefined)
  })
})

describe('a text that is split into messages', () => {
  it('arrives whole, in messages of at most the allowed size', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 }), fc.integer({ min: 90, max: 300 }), (text, maxBytes) => {
        const received: string[][] = []
        const read = createTextReader((from, whole) => void received.push([from, whole]))
        for (const message of splitText('ab12', 5, text, maxBytes)) {
          expect(Buffer.byteLength(message)).toBeLessThanOrEqual(maxBytes)
          read(message)
        }
        expect(received).toEqual([['ab12', text]])
      }),
    )
  })

  it('is left out if any of its messages is missing, and the next text arrives', () => {
    fc.assert(
      fc.property(fc.nat(4), (missing) => {
        const received: string[] = []
        const read = createTextReader((_, whole) => void received.push(whole))
        const first = splitText('ab', 1, 'x'.repeat(100), 100)
        expect(first).toHaveLength(5)
        for (const message of first.filter((_, index) => index !== missing)) read(message)
        for (const message of splitText('ab', 2, 'next', 100)) read(message)
        expect(received).toEqual(['next'])
      }),
    )
  })

  it('ignores messages of another form', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.tuple(fc.string(), fc.string()).map(([head, tail]) => `ab 1 ${head} 2\n${tail}`),
        ),
        (message) => {
          const received: string[] = []
          createTextReader((_, whole) => void received.push(whole))(message)
          expect(received).toEqual([])
        },
      ),
    )
  })
})
