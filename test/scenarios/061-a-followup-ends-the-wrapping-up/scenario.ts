import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow, weather } from '../../support/scenario-tools.ts'
import { followsUp, sayThen, steers, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a followup that is newer than the request to wrap up gives the turn its tools and its rounds back',
  cast: () => ({
    tools: [slow(), weather()],
    replies: [calls('slow.work'), calls('weather.today', { city: 'Rome' }), answers('Clear.')],
  }),
  act: async (stage) => {
    const { exitReason } = await sayThen(stage, 'Research it.', {
      when: toolStarted,
      act: async () => {
        const wrapUp = steers('Wrap up.', { mode: 'wrap_up' })(stage)
        await Promise.all([wrapUp, followsUp('No, tell me the weather first.')(stage)])
      },
    })
    expect(exitReason).toBe('complete')
  },
} satisfies Scenario
