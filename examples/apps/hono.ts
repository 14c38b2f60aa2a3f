import { serve } from '@hono/node-server'
import { createHandler } from 'daybook/server'
import { Hono } from 'hono'
import { agent, store } from './agent.ts'

const handler = createHandler(agent, { basePath: '/agent' })

const app = new Hono()
app.get('/', (c) => c.text('The page of the application'))
app.all('/agent/*', (c) => handler(c.req.raw))

const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
)

// Running turns have ten seconds to finish. Meanwhile, /agent/ready answers with 503. `drain` also closes the agent.
process.once('SIGTERM', async () => {
  await handler.drain()
  server.close()
  await store.close()
})
