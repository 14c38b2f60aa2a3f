import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'a question leads to a tool call, its result and an answer with a suggested followup',
  setup: () => ({
    tools: [weather()],
    replies: [
      calls('weather.today', { city: 'Rome' }, { notes: 'Looking it up.' }),
      answers('It is clear in Rome, 21 degrees.', { followups: ['And tomorrow?'] }),
    ],
  }),
  run: async (harness) => void (await harness.say('How is the weather in Rome?')),
  prompt: true,
} satisfies Scenario
