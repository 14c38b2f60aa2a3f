import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

/** Advances the clock by a minute and a half, so that the first reply takes this long. It is set when the scenario runs. */
let advanceClock = () => {}

function slowReply(): string {
  advanceClock()
  return reply.call('weather.today', { city: 'Rome' })
}

export default {
  title: 'reaching the time limit ends the turn with a wrap-up',
  setup: () => ({
    tools: [weather()],
    settings: { maxSeconds: 60 },
    replies: [slowReply, reply.answer('That is what I found in a minute.')],
  }),
  run: async (harness) => {
    advanceClock = () => harness.clock.advance(90_000)
    await harness.say('Please do it.')
  },
} satisfies Scenario
