import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'a question, a call, its result, an answer with something to ask next',
  cast: () => ({
    tools: [weather()],
    replies: [
      calls('weather.today', { city: 'Rome' }, { notes: 'Looking it up.' }),
      answers('It is clear in Rome, 21 degrees.', { followups: ['And tomorrow?'] }),
    ],
  }),
  act: async (stage) => void (await stage.say('How is the weather in Rome?')),
  prompt: true,
} satisfies Scenario
