import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { bodyOf, type Handler, listen, sdkHandler } from './http-servers.ts'
import { mcpHarness, promptOf } from './servers.ts'

const add = (a: number, b: number) => reply.call('mcp.demo.add', { a, b })
const done = reply.answer('Done.')

describe('a server over HTTP', () => {
  it.each([true, false])('is called, with sessions: %s', async (sessions) => {
    const { url } = await listen(sdkHandler({ sessions }))
    const harness = mcpHarness({ demo: { url } }, { replies: [add(2, 3), done] })
    expect(await harness.say('Add')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toContain('The sum is 5.')
  })

  it('gets the headers of the configuration', async () => {
    const { url } = await listen(sdkHandler({ token: 'abc' }))
    const harness = mcpHarness(
      { demo: { url, headers: { authorization: 'Bearer abc' } }, closed: { url, headers: { authorization: 'Bearer x' } } },
      { replies: [add(2, 3), done] },
    )
    await harness.say('Add')
    expect(promptOf(harness)).toContain('The sum is 5.')
    expect(promptOf(harness)).toMatch(/closed: .*403/)
    expect(promptOf(harness)).not.toContain('Bearer')
  })

  it('tells that its list of tools has changed', async () => {
    const { url } = await listen(sdkHandler())
    const harness = mcpHarness({ demo: { url } }, { replies: [reply.call('mcp.demo.grow', {}), done] })
    await harness.say('Grow')
    await expect.poll(() => JSON.stringify(harness.servers.latest())).toContain('"grown"')
  })

  it('that was restarted and has forgotten the session is used again', async () => {
    const first = await listen(sdkHandler())
    const harness = mcpHarness({ demo: { url: first.url } }, { replies: [add(1, 1), done, add(2, 2), add(3, 3), done] })
    await harness.say('Add')
    await first.close()
    await listen(sdkHandler(), first.port)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    await harness.say('Again')
    expect(promptOf(harness)).toContain('The sum is 6.')
  })

  it('that can not be reached does not break the turn', async () => {
    const { url, close } = await listen(sdkHandler())
    await close()
    const harness = mcpHarness({ demo: { url } }, { replies: [done] })
    expect(await harness.say('Hello')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toMatch(/demo: it can not be reached: .*ECONNREFUSED/)
  })

  it.each<[name: string, misbehave: Handler, words: RegExp]>([
    ['floods', (_, response) => flood(response), /it sent a message of more than 1000000 bytes/],
    ['floods events', (_, response) => flood(response, 'text/event-stream'), /it sent a message of more than 1000000 bytes/],
    ['breaks the connection', (_, response) => begin(response, (socket) => socket.destroy()), /the connection to it broke/],
    ['does not answer', () => {}, /it did not answer within 1 s/],
    [
      'answers with a page',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      /Unexpected content type/,
    ],
    [
      'answers with nonsense',
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{nonsense'),
      /no answer from/,
    ],
    ['fails', (_, response) => void response.writeHead(500).end('out of order'), /it answered with the status 500/],
  ])('that %s in a call does not break the turn', async (_name, misbehave, words) => {
    const good = sdkHandler({ sessions: false })
    const { url } = await listen(async (request, response) => {
      const body = request.method === 'POST' ? await bodyOf(request) : ''
      if (body.includes('"tools/call"')) return misbehave(request, response)
      good(request, response, body === '' ? undefined : JSON.parse(body))
    })
    const harness = mcpHarness({ demo: { url, timeoutSeconds: 1, maxMessageBytes: 1_000_000 } }, { replies: [add(1, 1), done] })
    expect(await harness.say('Add')).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toMatch(words)
  })
})

const begin = (response: ServerResponse, then: (socket: NonNullable<ServerResponse['socket']>) => void) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': hello\n\n', () => response.socket && then(response.socket))
}

function flood(response: ServerResponse, type = 'application/json'): void {
  response.writeHead(200, { 'content-type': type })
  const piece = 'x'.repeat(65_536)
  let left = 1_600
  const write = () => {
    while (left-- > 0 && !response.destroyed) if (!response.write(piece)) return void response.once('drain', write)
    response.end()
  }
  response.on('error', () => {})
  write()
}
