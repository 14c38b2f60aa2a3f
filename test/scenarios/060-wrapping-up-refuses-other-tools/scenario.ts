import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool, weather } from '../../support/scenario-tools.ts'
import { runTurnWith, steerWith, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'loop 17.92: while wrapping up, a tool that is not on the list does not run: a fixed text ends the turn',
  setup: () => ({
    tools: [slowTool(), weather()],
    replies: [reply.call('slow.work'), reply.call('weather.today', { city: 'Rome' }), reply.answer('never asked for')],
  }),
  run: async (harness) => {
    const { exitReason } = await runTurnWith(harness, 'Research it.', {
      when: toolStarted,
      act: steerWith('Please wrap up.', { mode: 'wrap_up' }),
    })
    expect([exitReason, harness.model.left]).toEqual(['steer', 1])
  },
} satisfies Scenario
