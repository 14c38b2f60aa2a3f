import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'timeline 11.101: while the cache is warm, feedback is announced in every turn, and no block changes',
  setup: () => ({ replies: [reply.answer('One.'), reply.answer('Two.'), reply.answer('Three.')] }),
  run: async (harness) => {
    const { agent, conversationId } = harness
    const { turnId } = await harness.say('First.')
    await agent.feedback(conversationId, 'Too short.', { turnId, reaction: 'not_ok' })
    await agent.feedback(conversationId, 'Far too short.', { turnId, reaction: 'not_ok' })
    await agent.feedback(conversationId, 'unsure', { turnId, origin: 'machine', reaction: 'ok', confidence: 0.69 })
    await agent.feedback(conversationId, 'of a turn that is not there', { turnId: 'turn_0_gone00', reaction: 'ok' })
    await harness.say('Second.')
    await harness.say('Third.')
    const [, second = '', third = ''] = harness.model.requests
      .filter(({ role }) => role === 'decision')
      .map(({ parts }) => JSON.stringify(parts.at(-1)))
    for (const announce of [second, third]) {
      expect(announce).toContain('[NEW USER FEEDBACKS]')
      expect(announce).toContain('Far too short.')
      expect(announce).not.toMatch(/unsure|Too short|not there|incorporated/)
    }
    expect((await harness.timeline()).feedbackSeen).toBeUndefined()
  },
  prompt: true,
} satisfies Scenario
