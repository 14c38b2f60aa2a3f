import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow, weather } from '../../support/scenario-tools.ts'
import { sayThen, steers, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'loop 17.92: while wrapping up, a tool that is not on the list does not run: fixed words end the turn',
  cast: () => ({
    tools: [slow(), weather()],
    replies: [calls('slow.work'), calls('weather.today', { city: 'Rome' }), answers('never asked for')],
  }),
  act: async (stage) => {
    const { exitReason } = await sayThen(stage, 'Research it.', { when: toolStarted, act: steers('Please wrap up.', { mode: 'wrap_up' }) })
    expect([exitReason, stage.model.left]).toEqual(['steer', 1])
  },
} satisfies Scenario
