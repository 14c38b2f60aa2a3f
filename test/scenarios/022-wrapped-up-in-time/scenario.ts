import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = reply.call('weather.today', { city: 'Rome' })

export default {
  title: 'when the rounds run out the model gives the final answer, and the next turn continues from there',
  setup: () => ({
    tools: [weather()],
    settings: { maxRounds: 2 },
    replies: [call, call, reply.answer('Clear so far; Oslo is still to be looked at.'), reply.answer('Oslo is clear too.')],
  }),
  run: async (harness) => {
    await harness.say('Compare Rome and Oslo.')
    await harness.say('Continue.')
  },
} satisfies Scenario
