import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool } from '../../support/scenario-tools.ts'
import { runTurnWith, steerWith, toolStarted } from '../../support/watch-turn.ts'

const steer = steerWith('Never mind.', { eventId: 'mine' })

export default {
  title: 'loop 17.94: a steer that is delivered again has no effect, whether it still waits or was folded',
  setup: () => ({ tools: [slowTool()], replies: [reply.call('slow.work'), reply.call('slow.work'), reply.answer('Done.')] }),
  run: async (harness) => {
    const { agent, conversationId } = harness
    await runTurnWith(
      harness,
      'Do it.',
      { when: toolStarted, act: () => Promise.all([steer(harness), steer(harness)]) },
      {
        when: toolStarted,
        act: async () => {
          await steer(harness) // if this steer had an effect, it would stop the tool
          expect((await harness.timeline()).inbox).toEqual([])
          await agent.steer(conversationId, 'Stop that.', { eventId: 'another' })
        },
      },
    )
  },
} satisfies Scenario
