import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool } from '../../support/scenario-tools.ts'
import { runTurnWith, stopTurn, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a stop during a tool ends the turn with a fixed text and the open steps, without another model call',
  setup: () => ({
    tools: [slowTool()],
    replies: [
      reply.call('react.plan', { mode: 'new', steps: ['Do the slow work', 'Report'] }),
      reply.call('slow.work'),
      reply.answer('never asked for'),
    ],
  }),
  run: async (harness) => {
    const { exitReason } = await runTurnWith(harness, 'Do it.', {
      when: (event) => toolStarted(event) && 'tool_id' in event && event.tool_id === 'slow.work',
      act: stopTurn,
    })
    expect([exitReason, harness.model.left]).toEqual(['steer', 1])
  },
} satisfies Scenario
