import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'tools 18.115: a call of a tool that does not exist runs nothing; the notice tells the model what to do, and the turn continues',
  setup: () => ({
    tools: [weather()],
    replies: [reply.call('wether.today', { city: 'Rome' }), reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')],
  }),
  prompt: true,
} satisfies Scenario
