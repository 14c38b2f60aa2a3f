import { describe, expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { bodyOf, type Handler, listen, sdkHandler } from './http-servers.ts'
import { mcpHarness, promptOf } from './servers.ts'

const add = (a: number, b: number) => reply.call('mcp.demo.add', { a, b })
const done = reply.answer('Done.')

/** A server that does `misbehave` with requests whose body contains `method`, and answers the others. */
async function misbehaving(method: string, misbehave: Handler, sessions = false) {
  const good = sdkHandler({ sessions })
  return listen(async (request, response) => {
    const body = request.method === 'POST' ? await bodyOf(request) : ''
    if (method !== '' && body.includes(`"${method}"`)) return misbehave(request, response, body)
    good(request, response, body === '' ? undefined : JSON.parse(body))
  })
}

describe('a server over HTTP', () => {
  it('that drops its event stream again and again does not disturb calls', async () => {
    const good = sdkHandler()
    let dropped = 0
    const { url } = await listen(async (request, response) => {
      const body = request.method === 'POST' ? await bodyOf(request) : ''
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        return void response.write(': hello\n\n', () => {
          dropped++
          request.socket.destroy()
        })
      }
      if (body.includes('"tools/call"')) await expect.poll(() => dropped, { timeout: 20_000 }).toBeGreaterThan(0)
      good(request, response, body === '' ? undefined : JSON.parse(body))
    })
    const harness = mcpHarness({ demo: { url } }, { replies: [add(1, 2), add(3, 4), done] })
    await harness.say('Add')
    expect(promptOf(harness)).toContain('The sum is 3.')
    expect(promptOf(harness)).toContain('The sum is 7.')
  })

  it('that redirects to another address gets no call and no header there, and the reason is told', async () => {
    const received: (string | undefined)[] = []
    const good = sdkHandler({ sessions: false })
    const elsewhere = await listen((request, response) => {
      received.push(String(request.headers['x-api-key'] ?? request.headers.authorization ?? 'no key'))
      good(request, response)
    })
    const { url } = await listen((_, response) => void response.writeHead(307, { location: elsewhere.url }).end())
    const headers = { 'x-api-key': 'secret', authorization: 'Bearer secret' }
    const harness = mcpHarness({ demo: { url, headers } }, { replies: [done] })
    expect(await harness.say('Hello')).toMatchObject({ answer: 'Done.' })
    expect(received).toEqual([])
    expect(promptOf(harness)).toMatch(/demo: it redirects to another address: http:\/\/127\.0\.0\.1:\d+/)
  })

  it('that redirects to another path of its own is followed, but not forever', async () => {
    const good = sdkHandler({ sessions: false })
    const { url } = await listen((request, response) => {
      if (request.url === '/mcp') return void response.writeHead(308, { location: '/mcp/' }).end()
      if (request.url === '/loop') return void response.writeHead(308, { location: '/loop' }).end()
      good(request, response)
    })
    const harness = mcpHarness({ demo: { url }, loop: { url: url.replace('/mcp', '/loop') } }, { replies: [add(1, 2), done] })
    await harness.say('Add')
    expect(promptOf(harness)).toContain('The sum is 3.')
    expect(promptOf(harness)).toMatch(/loop: it redirects too often/)
  })

  it.each<[what: string, misbehave: Handler, words: RegExp]>([
    ['refuses every request', (_, response) => void response.writeHead(401).end('no'), /demo: it answered with the status 401/],
    [
      'answers with a page',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      /demo: .*content type/i,
    ],
    [
      'answers the start with nonsense',
      (_, response, body) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: idIn(body), result: 7 })),
      /demo: /,
    ],
    [
      'speaks another version',
      (_, response, body) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            jsonrpc: '2.0',
            id: idIn(body),
            result: { protocolVersion: '1999-01-01', capabilities: {}, serverInfo: { name: 'x', version: '1' } },
          }),
        ),
      /demo: .*protocol version/i,
    ],
  ])('that %s does not break the turn', async (_what, misbehave, words) => {
    const { url } = await misbehaving('initialize', misbehave)
    const harness = mcpHarness({ demo: { url, startSeconds: 5 } }, { replies: [done] })
    expect(await harness.say('Hello')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toMatch(words)
  })

  it('that ends the event stream of a call without an answer does not keep the call waiting', async () => {
    const { url } = await misbehaving('tools/call', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(': nothing\n\n')
    })
    const harness = mcpHarness({ demo: { url, timeoutSeconds: 2 } }, { replies: [add(1, 2), done] })
    expect(await harness.say('Add')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toMatch(/no answer from the MCP server demo/)
  })
})

const idIn = (body: unknown): unknown => (JSON.parse(String(body)) as { readonly id: unknown }).id
