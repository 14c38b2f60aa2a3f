import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createClient } from '../client/client.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { createAgent } from '../wiring/agent.ts'
import { createHandler } from './create-handler.ts'
import { createNodeListener } from './node-listener.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function mounted() {
  const model = { decision: scriptedModel([reply.answer('Hello there.')]), gate: 'offline' } as const
  const handler = createHandler(createAgent({ model }), { basePath: '/agent', drainMs: 100 })
  closers.push(() => handler.drain())
  return createNodeListener(handler)
}

it('answers requests of a Node server, even if the framework has removed the base path from the address', async () => {
  const listener = mounted()
  const url = await listen((request, response) => {
    // Express does the same for `app.use('/agent', listener)`
    Object.assign(request, { originalUrl: request.url, url: request.url?.slice('/agent'.length) })
    listener(request, response)
  })
  const client = createClient({ baseUrl: `${url}/agent` })
  await client.conversations.create({ id: 'c1', title: 'Greeting' })
  await client.send('c1', 'Hello?', { files: [{ name: 'a.txt', content: new Blob(['some text']) }] })
  for await (const event of client.follow('c1')) if (event.type === 'entry' && event.change.type === 'turn.closed') break
  expect(JSON.stringify(await client.timeline('c1'))).toContain('Hello there.')
})

it('says what to do if something else has read the body of the request before', async () => {
  const listener = mounted()
  const url = await listen(async (request: IncomingMessage, response) => {
    for await (const _ of request); // `express.json()` does the same
    listener(request, response)
  })
  const response = await fetch(`${url}/agent/v1/conversations`, { method: 'POST', body: '{}' })
  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({ code: 'request.broken', title: expect.stringContaining('before body parsers') })
  expect((await fetch(`${url}/agent/ready`)).status).toBe(200) // a request without a body still works
})
