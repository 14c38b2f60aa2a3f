import { agentTool, createAgent } from 'daybook'
import { reply, scriptedModel } from 'daybook/testing'
import { z } from 'zod'

const researcher = createAgent({
  model: scriptedModel([reply.answer('The bridge was opened in 1932.')]),
  instructions: 'You find facts and name their sources.',
})

const agent = createAgent({
  model: scriptedModel([
    reply.call('agents.research', { question: 'When was the bridge opened?' }),
    reply.answer('The bridge is from 1932.'),
  ]),
  tools: [agentTool(researcher, { id: 'agents.research', description: 'Finds facts.', params: z.object({ question: z.string() }) })],
})

const { answer } = await agent.run('bridge', 'How old is the bridge?').result
console.log(answer)

// The sub-agent has a conversation of its own, which lists leave out. Its cost is part of the cost of the calling turn.
const { cost } = await agent.archive.usage('bridge')
console.log('model calls:', cost.calls.length)

await agent.close()
await researcher.close()
