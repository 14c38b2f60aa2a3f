import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { follow } from './follow.ts'
import { createRequest, RequestRefused } from './request.ts'

/** A server that answers the nth connection with the nth function. */
let server: Server
const requests: string[] = []
async function startServer(...answers: readonly ((response: ServerResponse) => void)[]) {
  requests.length = 0
  server = createServer(({ url = '' }, response) => {
    requests.push(url)
    answers[Math.min(requests.length, answers.length) - 1]?.(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return createRequest({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const entry = (seq: number) => `data: ${JSON.stringify({ type: 'entry', seq, change: { type: 'turn.closed' } })}\n\n`
const sendEntries =
  (...seqs: readonly number[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(seqs.map(entry).join('') || ': keepalive\n\n')
  }

it('reconnects when the connection is silent, and continues after the last entry', async () => {
  const request = await startServer((response) => (requests.at(-1)?.includes('after=0') ? sendEntries(1, 2) : sendEntries(2, 3))(response))
  const connections: string[] = []
  const received: unknown[] = []
  for await (const event of follow(request, '/events', { silenceMs: 300, onConnection: (state) => connections.push(state) })) {
    if (event.type === 'entry') received.push(event.seq)
    if (received.length === 3) break
  }
  expect(received).toEqual([1, 2, 3])
  expect(connections.slice(-3)).toEqual(['open', 'lost', 'open'])
  expect(requests.at(-1)).toContain('after=2')
})

it('reconnects when the server accepts the connection and never responds', async () => {
  const request = await startServer(() => {}, sendEntries(1))
  const events = follow(request, '/events', { silenceMs: 300 })
  expect((await events.next()).value).toMatchObject({ seq: 1 })
  await events.return(undefined)
})

it('keeps the connection while the server sends keep-alive comments', async () => {
  const request = await startServer((response) => {
    sendEntries()(response)
    let writes = 0
    const timer = setInterval(() => {
      response.write(++writes < 60 ? ': keepalive\n\n' : entry(1))
      if (writes === 60) clearInterval(timer)
    }, 20)
  })
  const events = follow(request, '/events', { silenceMs: 1_000 }) // the server takes 60 × 20 ms, which is longer than this
  expect((await events.next()).value).toMatchObject({ seq: 1 })
  expect(requests).toHaveLength(1)
  await events.return(undefined)
})

it('does not count the time of a slow consumer as silence', async () => {
  const request = await startServer(sendEntries(1, 2))
  const events = follow(request, '/events', { silenceMs: 500 })
  await events.next()
  await new Promise((resolve) => setTimeout(resolve, 750))
  expect((await events.next()).value).toMatchObject({ seq: 2 })
  expect(requests).toHaveLength(1)
  await events.return(undefined)
})

it.each([401, 403, 404])('throws at once when the server answers %i', async (status) => {
  const request = await startServer((response) => response.writeHead(status).end('{}'))
  await expect(follow(request, '/events').next()).rejects.toThrow(RequestRefused)
  expect(requests).toHaveLength(1)
})

it('ends when aborted, while it waits to retry and while it waits for events', async () => {
  for (const answer of [(response: ServerResponse) => void response.writeHead(503).end(), sendEntries()]) {
    const request = await startServer(answer)
    const abort = new AbortController()
    const events = follow(request, '/events', { signal: abort.signal })
    const next = events.next()
    await expect.poll(() => requests.length).toBeGreaterThan(0)
    abort.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    server.closeAllConnections()
  }
})
