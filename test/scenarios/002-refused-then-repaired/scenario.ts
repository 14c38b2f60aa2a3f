import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'tools 18.115: a call of a tool that does not exist runs nothing, tells the model what to do, and the turn goes on',
  cast: () => ({
    tools: [weather()],
    replies: [calls('wether.today', { city: 'Rome' }), calls('weather.today', { city: 'Rome' }), answers('Clear.')],
  }),
  prompt: true,
} satisfies Scenario
