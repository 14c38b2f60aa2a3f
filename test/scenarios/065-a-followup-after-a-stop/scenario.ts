import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow } from '../../support/scenario-tools.ts'
import { sayThen, stops, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'what is said after a stop is not lost with the turn that stops: it becomes the next turn',
  cast: () => ({ tools: [slow()], replies: [calls('slow.work'), answers('Hello again.')] }),
  act: async (stage) => {
    let next: Promise<unknown> | undefined
    const first = await sayThen(stage, 'Do it.', {
      when: toolStarted,
      act: async () => {
        const stopping = stops(stage)
        next = stage.agent.run({ conversation: stage.conversation, input: 'Are you there?' }).result
        await stopping
      },
    })
    expect(first.exitReason).toBe('steer')
    expect(await next).toMatchObject({ exitReason: 'complete', answer: 'Hello again.' })
  },
} satisfies Scenario
