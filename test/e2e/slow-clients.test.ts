import { get, type IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { serverSentEvents } from '../../src/client/server-sent-events.ts'
import type { NativeFrame } from '../../src/core/event.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { sendBytes } from '../support/hostile/send.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'

const responses: IncomingMessage[] = []
afterEach(async () => {
  for (const response of responses.splice(0)) response.destroy()
  await closeServers()
})

/** A client that opens a connection and reads no data until `read` is called. */
async function connectWithoutReading(url: string, path: string) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => void get(`${url}${path}`, resolve).once('error', reject))
  responses.push(response)
  return {
    /** Reads events up to the first one for which `isLast` is true. */
    async read(isLast: (frame: NativeFrame) => boolean): Promise<readonly NativeFrame[]> {
      const frames: NativeFrame[] = []
      for await (const { data } of serverSentEvents(response)) {
        const frame = JSON.parse(data) as NativeFrame
        frames.push(frame)
        if (isLast(frame)) break
      }
      return frames
    },
  }
}

const events = '/v1/conversations/c1/events?as=native'

describe('a client that does not read', () => {
  it('gets all of a long answer when it begins to read', async () => {
    const text = 'All work and no play makes a long answer. '.repeat(500_000)
    const { agent, client, server } = await openServer({
      replies: [{ text: reply.answer(text), chunks: 1_000 }],
      server: { slowFollowerMs: 60_000 }, // on a busy machine the turn takes longer than the default
    })
    await client.conversations.create({ id: 'c1', title: 'Long' })
    const slow = await connectWithoutReading(server.url, events)
    await expect.poll(async () => (await client.metrics()).includes('daybook_followers 1')).toBe(true)
    await client.send('c1', 'Tell me.')
    await expect.poll(() => [...agent.running]).toEqual([])
    const frames = await slow.read((frame) => frame.type === 'entry' && frame.change.type === 'turn.closed')
    const chunks = frames.flatMap((frame) => (frame.type === 'lane.delta' && frame.delta.marker === 'answer' ? [frame.delta.text] : []))
    expect(chunks.join('').length).toBe(text.length)
    expect(chunks.join('') === text).toBe(true)
  }, 60_000)

  it('is told to resync when its queue is full, and can continue from its last entry', async () => {
    const { agent, client, server } = await openServer({ server: { slowFollowerMs: 20 } })
    await client.conversations.create({ id: 'c1' })
    const slow = await connectWithoutReading(server.url, events)
    await expect.poll(async () => (await client.metrics()).includes('daybook_followers 1')).toBe(true)
    const notices = 100
    for (let index = 0; index < notices; index++) await agent.notify('c1', `${index} ${'x'.repeat(200_000)}`)
    await setTimeout(1_000) // the client reads only after `slowFollowerMs`
    const frames = await slow.read((frame) => frame.type === 'resync')
    const seqs = frames.flatMap((frame) => (frame.type === 'entry' ? [frame.seq] : []))
    expect(frames.at(-1)).toEqual({ type: 'resync' })
    expect(seqs).toEqual(seqs.map((_, index) => index + 1))
    expect(seqs.length).toBeLessThan(notices)
    const again = await connectWithoutReading(server.url, `${events}&after=${seqs.length}`)
    const rest = await again.read((frame) => frame.type === 'entry' && frame.seq === notices)
    expect(rest.flatMap((frame) => (frame.type === 'entry' ? [frame.seq] : []))).toEqual(
      Array.from({ length: notices - seqs.length }, (_, index) => seqs.length + 1 + index),
    )
  }, 60_000)
})

it('a request whose headers arrive too slowly is answered with 408', async () => {
  const { server } = await openServer({ server: { headersMs: 100 } })
  const answer = await sendBytes(server.url, 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ')
  expect([answer.status, answer.contentType]).toEqual([408, 'application/problem+json'])
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'request.too_slow' })
})

it('a HEAD request of an event stream adds no follower', async () => {
  const { client, server } = await openServer()
  await client.conversations.create({ id: 'c1' })
  const { status } = await fetch(`${server.url}${events}`, { method: 'HEAD' })
  expect(status).toBe(200)
  await expect.poll(async () => (await client.metrics()).match(/^daybook_followers \d+$/m)?.[0]).toBe('daybook_followers 0')
})

it('a client that disconnects is no longer counted as a follower', async () => {
  const { client, server } = await openServer()
  await client.conversations.create({ id: 'c1' })
  const followers = async () => (await client.metrics()).match(/^daybook_followers \d+$/m)?.[0]
  const leave = new AbortController()
  const response = await fetch(`${server.url}${events}`, { signal: leave.signal })
  expect(await followers()).toBe('daybook_followers 1')
  leave.abort()
  await response.text().catch(() => {})
  await expect.poll(followers).toBe('daybook_followers 0')
})
