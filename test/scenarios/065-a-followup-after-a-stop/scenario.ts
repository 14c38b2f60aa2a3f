import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool } from '../../support/scenario-tools.ts'
import { runTurnWith, stopTurn, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a followup after a stop is not lost with the stopped turn: it becomes the next turn',
  setup: () => ({ tools: [slowTool()], replies: [reply.call('slow.work'), reply.answer('Hello again.')] }),
  run: async (harness) => {
    let next: Promise<unknown> | undefined
    const first = await runTurnWith(harness, 'Do it.', {
      when: toolStarted,
      act: async () => {
        const stopping = stopTurn(harness)
        next = harness.agent.run(harness.conversationId, 'Are you there?').result
        await stopping
      },
    })
    expect(first.exitReason).toBe('steer')
    expect(await next).toMatchObject({ exitReason: 'complete', answer: 'Hello again.' })
  },
} satisfies Scenario
