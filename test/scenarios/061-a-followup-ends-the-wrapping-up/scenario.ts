import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool, weather } from '../../support/scenario-tools.ts'
import { runTurnWith, sendWith, steerWith, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a followup after the request to wrap up restores the tools and rounds of the turn',
  setup: () => ({
    tools: [slowTool(), weather()],
    replies: [reply.call('slow.work'), reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')],
  }),
  run: async (harness) => {
    const { exitReason } = await runTurnWith(harness, 'Research it.', {
      when: toolStarted,
      act: async () => {
        const wrapUp = steerWith('Wrap up.', { mode: 'wrap_up' })(harness)
        await Promise.all([wrapUp, sendWith('No, tell me the weather first.')(harness)])
      },
    })
    expect(exitReason).toBe('complete')
  },
} satisfies Scenario
