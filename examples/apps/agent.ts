import { createAgent, defineTool, openStore } from 'daybook'
import { z } from 'zod'

const dice = defineTool({
  id: 'game.dice',
  description: 'Throws dice and returns the numbers.',
  params: z.object({ count: z.number().int().min(1).max(10) }),
  run: ({ count }) => ({ ok: true, ret: Array.from({ length: count }, () => 1 + Math.floor(Math.random() * 6)) }),
})

/** The store of the agent. The program closes this store when it ends, because an agent does not close a store that was passed to it. */
export const store = await openStore({ data: process.env.AGENT_DATA ?? '.daybook' })

/** The agent of all examples in this folder. */
export const agent = createAgent({
  model: process.env.AGENT_MODEL ?? 'offline',
  store,
  tools: [dice],
})
