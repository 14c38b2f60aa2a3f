import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { afterEach, describe, expect, it } from 'vitest'
import { bearer, tokenOf } from '../../test/support/hostile/fixture.ts'
import { createClient } from '../client/client.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { createAgent } from '../wiring/agent.ts'
import { createHandler, type Handler, type HandlerOptions } from './create-handler.ts'

const handlers: Handler[] = []
afterEach(async () => {
  for (const handler of handlers.splice(0)) await handler.drain()
})

function mount(options: HandlerOptions = {}, model = scriptedModel([reply.answer('Hello there.')])): Handler {
  const handler = createHandler(createAgent({ model: { decision: model, gate: 'offline' } }), { drainMs: 100, ...options })
  handlers.push(handler)
  return handler
}

const localhost = 'http://localhost/'
const host = { host: 'localhost' }
/** A client whose requests go to the handler without a network. */
const clientOf = (handler: Handler, path = '') =>
  createClient({
    baseUrl: `${localhost}${path}`,
    fetch: (input, init) => {
      const request = new Request(input, init)
      request.headers.set('host', 'localhost')
      return handler(request)
    },
  })

describe.each([undefined, '/', '/agent', '/api/agent/', '/my agent', '/größe/'])('a handler with the base path %s', (basePath) => {
  const path = (basePath ?? '/').replace(/^\//, '')

  it('answers a message and streams its events', async () => {
    const client = clientOf(mount(basePath === undefined ? {} : { basePath }), path)
    const { id } = await client.conversations.create({ title: 'Greeting' })
    await client.send(id, 'Hello?')
    for await (const event of client.follow(id)) if (event.type === 'entry' && event.change.type === 'turn.closed') break
    expect(JSON.stringify(await client.timeline(id))).toContain('Hello there.')
  })

  it('accepts files, and serves the page with relative links', async () => {
    const handler = mount(basePath === undefined ? {} : { basePath })
    const client = clientOf(handler, path)
    await client.conversations.create({ id: 'c1', title: 'Files' })
    await client.send('c1', 'Read it.', { files: [{ name: 'a.txt', content: new Blob(['some text']) }] })
    expect(JSON.stringify(await client.timeline('c1'))).toContain('a.txt')
    const page = new URL(`${localhost}${path}`.replace(/\/?$/, '/'))
    const html = await (await handler(new Request(page, { headers: host }))).text()
    const script = /src="([^"]+)"/.exec(html)?.[1] ?? ''
    const response = await handler(new Request(new URL(script, page), { headers: host }))
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
  })
})

it('sends a browser from the base path to the page, and answers other paths with 404', async () => {
  const handler = mount({ basePath: '/agent' })
  const redirect = await handler(new Request(`${localhost}agent?x=1`, { headers: host }))
  expect([redirect.status, redirect.headers.get('location')]).toEqual([308, `${localhost}agent/?x=1`])
  for (const path of ['', 'agents', 'other/agent/v1/conversations'])
    expect((await handler(new Request(`${localhost}${path}`, { headers: host }))).status).toBe(404)
})

it('answers only localhost without tokens, and any host with them', async () => {
  const refused = await mount()(new Request('https://shop.example/v1/conversations', { headers: { host: 'shop.example' } }))
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'host.refused' }])
  const authorization = `Bearer ${tokenOf({ tenant: 'acme', project: 'main', sub: 'ann' })}`
  const handler = mount({ auth: bearer })
  const accepted = await handler(new Request('https://shop.example/v1/conversations', { headers: { host: 'shop.example', authorization } }))
  expect(accepted.status).toBe(200)
  expect((await handler(new Request('https://shop.example/v1/conversations'))).status).toBe(401)
})

describe('pages of other origins', () => {
  const origins = ['https://shop.example', 'http://localhost:5173']
  const ask = (handler: Handler, origin: string, init: RequestInit = {}) =>
    handler(new Request(`${localhost}v1/conversations`, { ...init, headers: { ...host, origin, ...init.headers } }))
  const preflight = {
    method: 'OPTIONS',
    headers: { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
  }

  it.each(origins)('may use the handler if they are listed: %s', async (origin) => {
    for (const options of [{ origins }, { origins, auth: bearer }]) {
      const handler = mount(options)
      const asked = await ask(handler, origin, preflight)
      expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, origin])
      expect(asked.headers.get('access-control-allow-headers')).toContain('authorization')
      const authorization = `Bearer ${tokenOf({ tenant: 'acme', project: 'main', sub: 'ann' })}`
      const response = await ask(handler, origin, { headers: { authorization, 'sec-fetch-site': 'cross-site' } })
      expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, origin])
      expect(response.headers.get('vary')).toContain('origin')
    }
  })

  it('can read why a request failed', async () => {
    const response = await ask(mount({ origins, auth: bearer }), 'https://shop.example')
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([401, 'https://shop.example'])
  })

  it.each(['https://evil.example', 'null', 'https://shop.example.evil.example', 'http://shop.example', 'https://SHOP.example'])(
    'get no header if they are not listed: %s',
    async (origin) => {
      const handler = mount({ origins, auth: bearer })
      for (const init of [preflight, {}]) {
        const response = await ask(handler, origin, init)
        expect([...response.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
      }
      expect((await ask(mount({ origins }), origin)).status).toBe(403)
    },
  )
})

it('after drain, /ready says so and messages are refused', async () => {
  const handler = mount()
  const status = async (path: string) => (await handler(new Request(`${localhost}${path}`, { headers: host }))).status
  expect(await status('ready')).toBe(200)
  await handler.drain()
  expect([await status('ready'), await status('v1/conversations')]).toEqual([503, 503])
})

it('works behind a Node server', async () => {
  const server = createServer(getRequestListener(mount({ basePath: '/agent' }), { overrideGlobalObjects: false }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent` })
  await client.conversations.create({ id: 'c1', title: 'Greeting' })
  await client.send('c1', 'Hello?')
  for await (const event of client.follow('c1')) if (event.type === 'entry' && event.change.type === 'turn.closed') break
  expect(JSON.stringify(await client.timeline('c1'))).toContain('Hello there.')
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

it.each([
  [{ basePath: 'agent' }, '`basePath` must be a path such as "/agent"'],
  [{ basePath: '/agent?x=1' }, '`basePath` must be a path such as "/agent"'],
  [{ basePath: '/agent#x' }, '`basePath` must be a path such as "/agent"'],
  [{ basePath: '//agent' }, '`basePath` must be a path such as "/agent"'],
  [{ basePath: '/agent//' }, '`basePath` must be a path such as "/agent"'],
  [{ basePath: '/a/../b' }, '`basePath` must be a path such as "/agent"'],
  [{ basePath: '/a\\b' }, '`basePath` must be a path such as "/agent"'],
  [{ origins: ['https://*.example'] }, 'must be an origin such as'],
  [{ origins: ['*'] }, 'must be an origin such as'],
  [{ auth: { kind: 'secret', secret: 'x' } }, '`auth.kind` must be "local" or "bearer"'],
  [{ origins: ['https://shop.example/'] }, 'must be an origin such as'],
  [{ origins: '*' }, 'must be a list of origins'],
  [{ port: 1 }, 'there is no option `port`'],
])('refuses the options %j', (options, words) => {
  expect(() => createHandler(createAgent({ model: 'offline' }), options as HandlerOptions)).toThrow(words)
})
