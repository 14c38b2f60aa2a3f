import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = { text: reply.call('weather.today', { city: 'Rome' }), usage: { uncached: 1_000, output: 100 } }

export default {
  title: 'reaching the money limit ends the turn with a wrap-up',
  setup: () => ({
    tools: [weather()],
    settings: { maxMoney: 5, priceOf: ({ uncached }) => uncached / 500 },
    replies: [call, call, reply.answer('That is what I found for the money.')],
  }),
} satisfies Scenario
