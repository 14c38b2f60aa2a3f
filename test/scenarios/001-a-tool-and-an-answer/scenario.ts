import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'a question leads to a tool call, its result and an answer with a suggested followup',
  setup: () => ({
    tools: [weather()],
    replies: [
      reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking it up.' }),
      reply.answer('It is clear in Rome, 21 degrees.', { followups: ['And tomorrow?'] }),
    ],
  }),
  run: async (harness) => void (await harness.say('How is the weather in Rome?')),
  prompt: true,
} satisfies Scenario
