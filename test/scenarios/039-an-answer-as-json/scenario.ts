import { z } from 'zod'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'a turn with an output schema: a wrong answer is refused, and the right one is stored as JSON',
  setup: () => ({
    tools: [weather()],
    replies: [
      reply.call('weather.today', { city: 'Rome' }),
      reply.answer('It is **21** degrees.'),
      reply.answer('{"city": "Rome"}'),
      reply.answer('{"city": "Rome", "degrees": 21}'),
    ],
  }),
  async run({ agent, conversationId }) {
    await agent.run(conversationId, 'Rome?', { output: z.object({ city: z.string(), degrees: z.number() }) }).result
  },
  prompt: true,
} satisfies Scenario
