import { createHandler, createNodeListener } from 'daybook/server'
import fastify from 'fastify'
import { agent, store } from './agent.ts'

const handler = createHandler(agent, { basePath: '/agent' })
const listener = createNodeListener(handler)

const app = fastify()
app.get('/', () => 'The page of the application')
app.register(async (scope) => {
  // the handler reads the bodies itself
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
  scope.all('/agent/*', (request, reply) => {
    reply.hijack()
    listener(request.raw, reply.raw)
  })
})

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }))

// Running turns have ten seconds to finish. Meanwhile, /agent/ready answers with 503. `drain` also closes the agent.
process.once('SIGTERM', async () => {
  await handler.drain()
  await app.close()
  await store.close()
})
