import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { follow } from './follow.ts'
import { createRequest, RequestRefused } from './request.ts'

/** A server that does with the nth connection what the nth function says. */
let server: Server
const asked: string[] = []
async function serverThat(...answers: readonly ((response: ServerResponse) => void)[]) {
  asked.length = 0
  server = createServer(({ url = '' }, response) => {
    asked.push(url)
    answers[Math.min(asked.length, answers.length) - 1]?.(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return createRequest({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const entry = (seq: number) => `data: ${JSON.stringify({ type: 'entry', seq, change: { type: 'turn.closed' } })}\n\n`
const tells =
  (...seqs: readonly number[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(seqs.map(entry).join('') || ': keepalive\n\n')
  }

it('takes a line that is silent for dead, and goes on from where it was', async () => {
  const request = await serverThat((response) => (asked.at(-1)?.includes('after=0') ? tells(1, 2) : tells(2, 3))(response))
  const connections: string[] = []
  const told: unknown[] = []
  for await (const event of follow(request, '/events', { silenceMs: 300, onConnection: (state) => connections.push(state) })) {
    if (event.type === 'entry') told.push(event.seq)
    if (told.length === 3) break
  }
  expect(told).toEqual([1, 2, 3])
  expect(connections.slice(-3)).toEqual(['open', 'lost', 'open'])
  expect(asked.at(-1)).toContain('after=2')
})

it('takes a server that accepts and never answers for dead, too', async () => {
  const request = await serverThat(() => {}, tells(1))
  const events = follow(request, '/events', { silenceMs: 300 })
  expect((await events.next()).value).toMatchObject({ seq: 1 })
  await events.return(undefined)
})

it('stays on a line where nothing happens but the server is heard', async () => {
  const request = await serverThat((response) => {
    tells()(response)
    let heard = 0
    const timer = setInterval(() => {
      response.write(++heard < 60 ? ': keepalive\n\n' : entry(1))
      if (heard === 60) clearInterval(timer)
    }, 20)
  })
  const events = follow(request, '/events', { silenceMs: 1_000 }) // 60 × 20 ms is longer than that
  expect((await events.next()).value).toMatchObject({ seq: 1 })
  expect(asked).toHaveLength(1)
  await events.return(undefined)
})

it('does not take its own slowness for silence', async () => {
  const request = await serverThat(tells(1, 2))
  const events = follow(request, '/events', { silenceMs: 500 })
  await events.next()
  await new Promise((resolve) => setTimeout(resolve, 750))
  expect((await events.next()).value).toMatchObject({ seq: 2 })
  expect(asked).toHaveLength(1)
  await events.return(undefined)
})

it.each([401, 403, 404])('throws at once when the server says %i', async (status) => {
  const request = await serverThat((response) => response.writeHead(status).end('{}'))
  await expect(follow(request, '/events').next()).rejects.toThrow(RequestRefused)
  expect(asked).toHaveLength(1)
})

it('ends when it is told to, in the middle of a pause and in the middle of a silence', async () => {
  for (const answer of [(response: ServerResponse) => void response.writeHead(503).end(), tells()]) {
    const request = await serverThat(answer)
    const leave = new AbortController()
    const events = follow(request, '/events', { signal: leave.signal })
    const next = events.next()
    await expect.poll(() => asked.length).toBeGreaterThan(0)
    leave.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    server.closeAllConnections()
  }
})
