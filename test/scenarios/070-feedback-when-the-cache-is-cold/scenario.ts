import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'when the cache is cold, the latest feedback on a turn is inserted into that turn and announced once',
  setup: () => ({ replies: [reply.answer('One.'), reply.answer('Two.'), reply.answer('Three.')] }),
  run: async (harness) => {
    const { agent, clock, conversationId } = harness
    const { turnId } = await harness.say('First.')
    const second = await harness.say('Second.')
    await agent.feedback(conversationId, 'Fine.', { turnId, reaction: 'ok' })
    await agent.feedback(conversationId, 'Too short.', { turnId, reaction: 'not_ok' })
    await agent.feedback(conversationId, 'It was on topic.', { turnId: second.turnId, origin: 'machine', reaction: 'ok', confidence: 0.9 })
    clock.advance(3_600_000)
    await harness.say('Third.')
    expect((await harness.timeline()).inbox).toEqual([])
  },
  prompt: true,
} satisfies Scenario
