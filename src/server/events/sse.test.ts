import { describe, expect, it } from 'vitest'
import type { LaneEvent, TurnEvent } from '../../core/event.ts'
import { createBacklog, joinDeltas } from './backlog.ts'
import { frameText } from './format.ts'
import { createNativeFormat } from './native.ts'
import { type SseOptions, sseResponse } from './sse.ts'

const start = { conversationId: 'c1', lastSeq: 0, ts: '2026-01-01T00:00:00.000Z' }
const titled = (seq: number): TurnEvent => ({ type: 'entry', seq, change: { type: 'title.set', ts: start.ts, title: `title ${seq}` } })
const delta = (index: number, text: string, more: Partial<LaneEvent['delta']> = {}): LaneEvent => ({
  type: 'lane.delta',
  turn_id: 't1',
  iteration: 0,
  attempt: 0,
  delta: { marker: 'answer', format: 'markdown', index, text, completed: false, ...more },
})

const few = { events: 10, bytes: 1e6 }

/** Yields the events, and then waits until the stream ends. */
function source(events: readonly TurnEvent[]) {
  const end = Promise.withResolvers<void>()
  async function* eventsThenSilence() {
    yield* events
    await end.promise
  }
  return { events: eventsThenSilence(), onEnd: end.resolve, ended: end.promise }
}

function open(events: readonly TurnEvent[], more: Partial<SseOptions> = {}) {
  const { events: stream, onEnd, ended } = source(events)
  const response = sseResponse(stream, { start, format: createNativeFormat(), onEnd, ...more })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  return {
    response,
    ended,
    disconnect: () => reader.cancel(),
    async until(expected: string): Promise<string> {
      while (!text.includes(expected)) {
        const { done, value } = await reader.read()
        if (done) break
        text += decoder.decode(value, { stream: true })
      }
      return text
    },
    async rest(): Promise<string> {
      for (let next = await reader.read(); !next.done; next = await reader.read()) text += decoder.decode(next.value, { stream: true })
      return text
    },
  }
}

describe('an event stream', () => {
  it('sends ready, then every event in order, with an id on entries only', async () => {
    const stream = open([titled(1), delta(0, 'Hi'), titled(2)])
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const text = await stream.until('title 2')
    expect(text.match(/^(id|event): .*$/gm)).toEqual([
      'event: ready',
      'id: 1',
      'event: entry',
      'event: lane.delta',
      'id: 2',
      'event: entry',
    ])
    await stream.disconnect()
    await stream.ended
  })

  it('sends keep-alive comments while there are no events', async () => {
    const stream = open([], { keepAliveMs: 1 })
    expect(await stream.until(': keepalive\n\n: keepalive')).toContain(': keepalive')
    await stream.disconnect()
  })

  it('tells the client when the server shuts down, and ends', async () => {
    const shutdown = new AbortController()
    const stream = open([titled(1)], { shutdown: shutdown.signal })
    await stream.until('title 1')
    shutdown.abort()
    expect(await stream.rest()).toMatch(/event: server_shutdown\ndata: .*draining.*\n\n$/)
    await stream.ended
  })

  it('joins text deltas for a slow client and loses no text', async () => {
    const sent = Array.from({ length: 5_000 }, (_, index) => delta(index, `${index} `))
    const stream = open([...sent, titled(1)], { backlog: few })
    await new Promise((resolve) => setTimeout(resolve, 20)) // meanwhile the client does not read
    const text = await stream.until('title 1')
    const deltas = text.split('\n\n').filter((frame) => frame.includes('lane.delta'))
    expect(deltas.length).toBeLessThan(5_000)
    const received = deltas.map((frame) => JSON.parse(frame.split('data: ')[1] as string).delta.text).join('')
    expect(received === sent.map((event) => event.delta.text).join('')).toBe(true)
    await stream.disconnect()
  })

  it('tells a client to resync when joining is not enough', async () => {
    const stream = open(
      Array.from({ length: 50_000 }, (_, index) => titled(index + 1)),
      { backlog: few, slowMs: 10 },
    )
    await new Promise((resolve) => setTimeout(resolve, 1_000)) // meanwhile the client does not read
    expect(await stream.rest()).toMatch(/event: resync\ndata: \{"type":"resync"\}\n\n$/)
    await stream.ended
  })

  it('tells a client to resync when too many bytes wait, whatever the number of events, and drops what waits', async () => {
    const long = (seq: number): TurnEvent => ({
      type: 'entry',
      seq,
      change: { type: 'title.set', ts: start.ts, title: 'x'.repeat(100_000) },
    })
    const stream = open(
      Array.from({ length: 10 }, (_, index) => long(index + 1)),
      { backlog: { events: 1_000, bytes: 250_000 }, slowMs: 10 },
    )
    await new Promise((resolve) => setTimeout(resolve, 1_000)) // meanwhile the client does not read
    const text = await stream.rest()
    expect(text).toMatch(/event: resync\ndata: \{"type":"resync"\}\n\n$/)
    expect(text.match(/^id: \d+$/gm)?.length).toBeLessThan(5)
    await stream.ended
  })

  it('waits for a client that reads, even if a burst of events is larger than the limit', async () => {
    const burst = Array.from({ length: 300 }, (_, index) => delta(index, 'z'.repeat(1_000)))
    const stream = open([...burst, titled(1)], { backlog: { events: 100, bytes: 20_000 } })
    const text = await stream.until('title 1')
    expect(text).not.toContain('resync')
    expect(text.split('z').length - 1).toBe(300_000)
    await stream.disconnect()
  })

  it('sends one event that is larger than the limit', async () => {
    const stream = open([delta(0, 'x'.repeat(100_000)), titled(1)], { backlog: { events: 100, bytes: 1_000 } })
    expect(await stream.until('title 1')).not.toContain('resync')
    await stream.disconnect()
  })

  it('waits for a slow client while it replays old entries, however many', async () => {
    const past = Array.from({ length: 1_000 }, (_, index) => titled(index + 1))
    const stream = open(past, { backlog: few, slowMs: 10, start: { ...start, lastSeq: 1_000 } })
    await new Promise((resolve) => setTimeout(resolve, 50))
    const text = await stream.until('title 1000')
    expect(text).not.toContain('resync')
    expect(text.match(/^id: \d+$/gm)).toHaveLength(1_000)
  })

  it('tells the client to resync when reading the events fails, and does not reveal the error', async () => {
    async function* broken(): AsyncGenerator<TurnEvent> {
      yield titled(1)
      throw new Error('disk failure')
    }
    const errors: unknown[] = []
    const response = sseResponse(broken(), {
      start,
      format: createNativeFormat(),
      onError: (error) => errors.push(error),
      onEnd: () => {},
    })
    const text = await response.text()
    expect(text).toContain('event: resync')
    expect(text).not.toContain('disk failure') // only the log contains the error
    expect(String(errors[0])).toContain('disk failure')
  })
})

it('loop 17.101: writes the data of a frame on one line, whatever separators the text holds', () => {
  const text = frameText({ id: 1, event: 'entry', data: { text: 'a\u2028b\u2029c\u0085d\ne\r' } })
  expect(text).toBe('id: 1\nevent: entry\ndata: {"text":"a\\u2028b\\u2029c\\u0085d\\ne\\r"}\n\n')
})

describe('joining deltas', () => {
  it('joins consecutive deltas of one lane and keeps the first index', () => {
    expect(joinDeltas([delta(0, 'a'), delta(1, 'b'), delta(2, '', { completed: true })])).toEqual([delta(0, 'ab', { completed: true })])
    expect(joinDeltas([delta(3, 'a'), delta(4, 'b')])).toEqual([delta(3, 'ab')])
  })

  it('joins nothing across lanes, attempts, entries or a restarted lane', () => {
    const separate: readonly TurnEvent[] = [
      delta(0, 'a'),
      delta(0, 'b'),
      delta(1, 'c', { marker: 'thinking' }),
      { ...delta(2, 'd', { marker: 'thinking' }), attempt: 1 },
      titled(1),
      delta(3, 'e', { completed: true }),
      delta(4, 'f'),
    ]
    expect(joinDeltas(separate)).toEqual(separate)
  })

  it('the backlog counts events after joining', () => {
    const backlog = createBacklog({ events: 3, bytes: 1e6 })
    for (let index = 0; index < 100; index++) expect(backlog.push(delta(index, 'x'))).toBe(true)
    expect(backlog.push(titled(1))).toBe(true)
    expect(backlog.size).toBeLessThanOrEqual(3)
    backlog.clear()
    expect([1, 2, 3, 4].map((seq) => backlog.push(titled(seq)))).toEqual([true, true, true, false])
  })
})
