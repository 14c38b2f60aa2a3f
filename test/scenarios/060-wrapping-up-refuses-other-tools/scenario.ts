import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool, weather } from '../../support/scenario-tools.ts'
import { runTurnWith, steerWith, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'loop 17.92: while wrapping up, a tool that is not on the list does not run: a fixed text ends the turn',
  setup: () => ({
    tools: [slowTool(), weather()],
    replies: [calls('slow.work'), calls('weather.today', { city: 'Rome' }), answers('never asked for')],
  }),
  run: async (harness) => {
    const { exitReason } = await runTurnWith(harness, 'Research it.', {
      when: toolStarted,
      act: steerWith('Please wrap up.', { mode: 'wrap_up' }),
    })
    expect([exitReason, harness.model.left]).toEqual(['steer', 1])
  },
} satisfies Scenario
