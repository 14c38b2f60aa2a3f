import { createHandler, createNodeListener } from 'daybook/server'
import express from 'express'
import { agent, store } from './agent.ts'

const handler = createHandler(agent, { basePath: '/agent' })

const app = express()
app.use('/agent', createNodeListener(handler)) // before express.json(), because the handler reads the bodies itself
app.use(express.json())
app.get('/', (_, response) => void response.send('The page of the application'))

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}`)
})

// Running turns have ten seconds to finish. Meanwhile, /agent/ready answers with 503. `drain` also closes the agent.
process.once('SIGTERM', async () => {
  await handler.drain()
  server.close()
  await store.close()
})
