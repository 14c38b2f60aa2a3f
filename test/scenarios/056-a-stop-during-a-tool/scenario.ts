import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow } from '../../support/scenario-tools.ts'
import { sayThen, stops, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a stop during a tool ends the turn with fixed words, the open steps and no further model call',
  cast: () => ({
    tools: [slow()],
    replies: [calls('react.plan', { mode: 'new', steps: ['Do the slow work', 'Report'] }), calls('slow.work'), answers('never asked for')],
  }),
  act: async (stage) => {
    const { exitReason } = await sayThen(stage, 'Do it.', {
      when: (event) => toolStarted(event) && 'tool_id' in event && event.tool_id === 'slow.work',
      act: stops,
    })
    expect([exitReason, stage.model.left]).toEqual(['steer', 1])
  },
} satisfies Scenario
