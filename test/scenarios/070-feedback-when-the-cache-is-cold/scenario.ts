import { expect } from 'vitest'
import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'when the cache is cold, feedback is inserted into the turn it concerns and announced once',
  setup: () => ({ replies: [answers('One.'), answers('Two.'), answers('Three.')] }),
  run: async (harness) => {
    const { agent, clock, conversation } = harness
    const { turnId } = await harness.say('First.')
    await harness.say('Second.')
    await agent.feedback(conversation, { turnId, reaction: 'not_ok', text: 'Too short.' })
    await agent.feedback(conversation, { turnId, origin: 'machine', reaction: 'ok', confidence: 0.9, text: 'It was on topic.' })
    clock.advance(3_600_000)
    await harness.say('Third.')
    expect((await harness.timeline()).inbox).toEqual([])
  },
  prompt: true,
} satisfies Scenario
