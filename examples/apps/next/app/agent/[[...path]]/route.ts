import { createHandler } from 'daybook/server'
import { agent, store } from '../../../../agent.ts'

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

// Next imports this module again while you develop. Only one handler may run the agent.
const shared = globalThis as { agentHandler?: ReturnType<typeof createHandler> }
shared.agentHandler ??= createHandler(agent, { basePath: '/agent' })
const handler = shared.agentHandler

export const GET = handler
export const HEAD = handler
export const POST = handler
export const PUT = handler
export const PATCH = handler
export const DELETE = handler
export const OPTIONS = handler

// Running turns have ten seconds to finish. `drain` also closes the agent.
process.once('SIGTERM', async () => {
  await handler.drain()
  await store.close()
})
