import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { createAgent, defineAgent, openStore } from 'daybook'
import { createClient } from 'daybook/client'
import { createHandler } from 'daybook/server'
import { reply, scriptedModel } from 'daybook/testing'
import { Hono } from 'hono'
import { order, search } from './shop-tools.ts'

// The agent. With a name such as 'anthropic/claude-sonnet-5-5' in place of the prepared replies, a real model answers.
const model = scriptedModel([
  reply.call('shop.search', { query: 'kettle' }),
  reply.call('rendering_tools.write_pdf', { path: 'files/kettles.pdf', content: '# Kettles\n\nThe K2 costs 49.50 EUR [[S:1]].' }),
  reply.call('shop.order', { item: 'K2', pieces: 2 }),
  reply.answer('I have ordered two kettles, and the report is ready [[S:1]].'),
])
const shop = defineAgent({ model, tools: [search, order], instructions: 'You help people in a shop.' })
const folder = await mkdtemp(join(tmpdir(), 'daybook-shop-')) // a real application uses a permanent folder
const store = await openStore({ data: folder })
const priceOf = () => 0.002 // dollars for each call. Without `priceOf`, the list prices of the models apply
const agent = createAgent({ ...shop, store, settings: { priceOf } })

// The application: a page of its own, and the agent with all routes and its web page below /agent.
const handler = createHandler(agent, { basePath: '/agent' })
const app = new Hono().get('/', (c) => c.text('The shop')).all('/agent/*', (c) => handler(c.req.raw))
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 })
await new Promise((resolve) => server.once('listening', resolve))
const address = server.address()

// A client sends a message, approves the order, and reads the result.
const client = createClient({ baseUrl: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/agent` })
const { id } = await client.conversations.create()
const sent = await client.send(id, 'Write a report about kettles, and order two.')
for await (const event of client.follow(id)) {
  if (event.type !== 'entry') continue
  const { change } = event
  if (change.type === 'turn.waiting') {
    console.log('waiting for an', change.waits[0]?.kind)
    await client.decide(id, change.waits[0]?.call_id ?? '', { approved: true })
  }
  if (change.type === 'turn.closed') break
}
const { answer, sources, files, cost } = await client.turnResult(id, sent.turn_id ?? '')
console.log(answer)
for (const { sid, title, url } of sources) console.log(sid, title, url)
for (const { filename, rn = '' } of files) console.log(filename, (await client.resource(rn)).type)
console.log(`it has cost ${cost?.money} dollars`)

await handler.drain() // waits for running turns, and closes the agent
server.close()
await store.close()
await rm(folder, { recursive: true })
