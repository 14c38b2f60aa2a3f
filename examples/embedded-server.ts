import { serve } from '@hono/node-server'
import { createAgent, defineTool } from 'daybook'
import { createClient } from 'daybook/client'
import { createHandler } from 'daybook/server'
import { reply, scriptedModel } from 'daybook/testing'
import { Hono } from 'hono'
import { z } from 'zod'

const stock = defineTool({
  id: 'shop.stock',
  description: 'How many pieces of an item are in stock.',
  params: z.object({ item: z.string() }),
  readOnly: true,
  run: ({ item }) => ({ item, pieces: 7 }),
})
const model = scriptedModel([reply.call('shop.stock', { item: 'kettle' }), reply.answer('There are 7 kettles in stock.')])
const agent = createAgent({ model, tools: [stock] })

// The application: a page of its own, and the agent with all routes and its web page below /agent.
const handler = createHandler(agent, { basePath: '/agent' })
const app = new Hono().get('/', (c) => c.text('The shop')).all('/agent/*', (c) => handler(c.req.raw))

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 })
await new Promise((resolve) => server.once('listening', resolve))
const address = server.address()
const port = typeof address === 'object' ? address?.port : undefined

// A client, for Node and for browsers.
const client = createClient({ baseUrl: `http://127.0.0.1:${port}/agent` })
const { id } = await client.conversations.create()
await client.send(id, 'Are there kettles?')
for await (const event of client.follow(id)) {
  if (event.type !== 'entry') continue
  if (event.change.type === 'blocks.appended') console.log(event.change.blocks.map(({ type }) => type).join(', '))
  if (event.change.type === 'turn.closed') break
}

await handler.drain() // waits for running turns, and closes the agent
server.close()
