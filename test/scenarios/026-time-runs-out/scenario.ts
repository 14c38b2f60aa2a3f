import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

/** Set when the curtain rises: the first reply takes a minute and a half. */
let takeTime = () => {}

function slowly(): string {
  takeTime()
  return calls('weather.today', { city: 'Rome' })
}

export default {
  title: 'reaching the time limit ends the turn with a wrap-up',
  setup: () => ({
    tools: [weather()],
    settings: { maxSeconds: 60 },
    replies: [slowly, answers('That is what I found in a minute.')],
  }),
  run: async (harness) => {
    takeTime = () => harness.clock.advance(90_000)
    await harness.say('Please do it.')
  },
} satisfies Scenario
