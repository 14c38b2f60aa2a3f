import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = calls('weather.today', { city: 'Rome' })

export default {
  title: 'when rounds run out the model has the last word, and the next turn goes on from there',
  cast: () => ({
    tools: [weather()],
    settings: { maxRounds: 2 },
    replies: [call, call, answers('Clear so far; Oslo is still to be looked at.'), answers('Oslo is clear too.')],
  }),
  act: async (stage) => {
    await stage.say('Compare Rome and Oslo.')
    await stage.say('Continue.')
  },
} satisfies Scenario
