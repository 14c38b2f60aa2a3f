import { HttpAgent } from '@ag-ui/client'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { DefaultChatTransport } from 'ai'
import { afterEach, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createClient } from '../../src/client/client.ts'
import { createApp } from '../../src/server/app.ts'
import { authenticationOf } from '../../src/server/auth/bearer.ts'
import { createSessions } from '../../src/server/auth/sessions.ts'
import { noLog } from '../../src/server/log.ts'
import { defaultServerSettings } from '../../src/server/settings.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { hostingOn } from '../support/hosting.ts'
import { openapiErrors, operationsIn } from '../support/openapi.ts'
import { answered, closeServers, openServer, viewWhen } from '../support/server-fixture.ts'

afterEach(closeServers)

it('the OpenAPI document is valid for client generators', async () => {
  const { client } = await openServer()
  expect(openapiErrors(await client.openapi())).toEqual([])
})

it('the check reports the errors of an invalid document', () => {
  const broken = {
    openapi: '3.1.0',
    info: { title: 'x', version: '1' },
    paths: {
      '/a/{id}': {
        get: { summary: 's', responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } } } } },
      },
    },
  }
  expect(openapiErrors(broken)).toEqual([
    'GET /a/{id}: names id in its path and  as parameters',
    'GET /a/{id}: 200 is not described',
    '#/components/schemas/A does not exist',
  ])
})

/** What the server has besides the operations of the document: the steps that requests pass, the addresses of the page, the document. */
const outsideDocument = [
  ...['ALL /*', 'ALL /mcp', 'ALL /v1/*', 'ALL /v1/conversations/import'],
  ...['GET /', 'GET /c/*', 'GET /page/*', 'GET /settings', 'GET /v1/openapi.json', 'GET /waiting'],
]

it('every route of the server is in the document or in the list of exceptions', async () => {
  const { agent, client, metrics } = await openServer()
  const settings = defaultServerSettings
  const { signal } = new AbortController()
  const parts = { agent, settings, metrics, log: noLog, now: createSystemClock().now, newId: () => 'id', shutdown: signal, stopped: signal }
  const app = createApp(parts, await authenticationOf(settings), createSessions(Date.now))
  const routes = app.routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  const documented = operationsIn(await client.openapi()).map(({ method, path }) => `${method} ${path}`)
  const others = routes.filter((route) => !documented.includes(route)).map((route) => route.replace(/^(GET \/(c|page)\/).+/, '$1*'))
  expect([...new Set(others)].sort()).toEqual(outsideDocument)
  expect(documented.filter((operation) => !routes.includes(operation))).toEqual([])
})

it('a client uses every route of the document, and no other', async () => {
  const clock = createSystemClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const replies = Array.from({ length: 4 }, (_, index) => reply.answer(`Answer ${index}.`))
  const { agent, server } = await openServer({ replies, store, hosting: hostingOn(store.blobs).hosting })
  const requests: { readonly method: string; readonly path: string }[] = []
  const recording: typeof fetch = (input, init) => {
    const { method, url } = new Request(input, init)
    requests.push({ method, path: new URL(url).pathname })
    return fetch(input, init)
  }
  // a client of MCP also tries GET, which a server without sessions answers with 405
  const recordingPosts: typeof fetch = (input, init) => (init?.method === 'POST' ? recording : fetch)(input, init)
  const client = createClient({ baseUrl: server.url, fetch: recording })
  const turnsEnded = () => expect.poll(() => [...agent.running]).toEqual([])

  await client.conversations.create({ id: 'c1', title: 'First' })
  await client.send('c1', 'hello', { files: [{ name: 'a.txt', content: new Blob(['abc']) }] })
  const view = await viewWhen(client, 'c1', answered)
  await turnsEnded()
  const turnId = view.turns[0]?.id ?? ''
  const { files } = await client.files('c1')
  expect(await (await client.resource(files[0]?.rn ?? '')).text()).toBe('abc')
  await client.feedback('c1', '', { turnId, reaction: 'ok' })
  await client.stop('c1')
  await Promise.all([client.timeline('c1'), client.turnLog('c1', turnId), client.turnResult('c1', turnId), client.sources('c1')])
  await Promise.all([client.prompt('c1', turnId, 0), client.round('c1', turnId, 0), client.cost('c1'), client.effects('c1')])
  await Promise.all([client.entries('c1'), client.replay('c1')])
  await client.conversations.change('c1', { title: 'Renamed' })
  await client.conversations.fork('c1', { id: 'c2' })
  await client.conversations.import(await client.conversations.export('c1'), 'c3')
  await client.conversations.list()
  await client.conversations.get('c3')
  await client.conversations.delete('c3')
  await Promise.all([client.health(), client.ready(), client.metrics()])
  await Promise.all([client.waiting(), client.waiting({ conversationId: 'c1' })])
  await Promise.all([client.info(), client.doctor(), client.parked(), client.retry('c1')])
  await expect(client.untilClosed('c1', 'none')).rejects.toThrow()
  await client.schedule('c1', { schedule_id: 's1', text: 'Later.', at: '2099-01-01T00:00:00.000Z' })
  await Promise.all([client.schedules(), client.schedules({ conversationId: 'c1' })])
  await client.unschedule('c1', 's1')
  await client.setBudget('tenant/local', { tokens: 1_000_000 })
  await Promise.all([client.budgets(), client.budgets({ conversationId: 'c1' })])
  await client.deleteOwner({ tenant: 'local', project: 'default', user: 'none' })
  await expect(client.deleteOwner({ tenant: 'another' })).rejects.toThrow()
  await expect(client.signIn('none')).rejects.toThrow()
  await expect(client.withdraw('c1', 'none')).rejects.toThrow()
  await expect(client.changeMessage('c1', 'none', 'x')).rejects.toThrow()
  await expect(client.decide('c1', 'none', { approved: true })).rejects.toThrow()
  await expect(client.complete('c1', 'none', { ok: true })).rejects.toThrow()

  const agUi = new HttpAgent({ url: `${server.url}/v1/conversations/c1/ag-ui`, threadId: 'c1', fetch: recording })
  agUi.addMessage({ id: 'm1', role: 'user', content: 'hello' })
  await agUi.runAgent()
  await turnsEnded()
  const transport = new DefaultChatTransport({ api: `${server.url}/v1/conversations/c1/ui-message`, fetch: recording })
  const stream = await transport.sendMessages({
    trigger: 'submit-message',
    chatId: 'c1',
    messageId: undefined,
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
    abortSignal: undefined,
  })
  for await (const _ of stream);
  await turnsEnded()
  expect(await transport.reconnectToStream({ chatId: 'c1' })).toBe(null)

  const mcp = new McpClient({ name: 'test', version: '1' })
  await mcp.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { fetch: recordingPosts }) as Transport)
  await mcp.close()

  const patternOf = (path: string) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
  const operations = operationsIn(await client.openapi())
  expect(operations.length).toBeGreaterThan(20)
  const untouched = operations.filter(
    ({ method, path }) => !requests.some((each) => each.method === method && patternOf(path).test(each.path)),
  )
  expect(untouched.map(({ method, path }) => `${method} ${path}`)).toEqual([])
  const unknown = requests.filter(
    ({ method, path }) => !operations.some((each) => each.method === method && patternOf(each.path).test(path)),
  )
  expect(unknown.filter(({ path }) => path !== '/v1/openapi.json')).toEqual([])
})
