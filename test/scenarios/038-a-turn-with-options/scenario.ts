import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'the options of a turn are announced, a call of a tool that the turn does not offer is refused, and other turns have no options',
  setup: () => ({
    tools: [weather()],
    replies: [
      reply.call('react.plan', { mode: 'new', steps: ['look'] }),
      reply.answer('Clear.'),
      reply.call('react.plan', { mode: 'close', plan_id: 'plan' }),
      reply.call('weather.today', { city: 'Rome' }),
      reply.answer('Klar.'),
    ],
  }),
  async run({ agent, conversationId }) {
    const options = { maxRounds: 5, instructions: 'Answer in German.', tools: ['weather.today', 'react.read'] }
    await agent.run(conversationId, 'Rome?').result
    await agent.run(conversationId, 'And in German?', options).result
  },
  prompt: true,
} satisfies Scenario
