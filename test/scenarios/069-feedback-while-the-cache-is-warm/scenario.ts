import { expect } from 'vitest'
import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'timeline 11.101: while the cache is warm, feedback is announced in every turn, and no block changes',
  setup: () => ({ replies: [answers('One.'), answers('Two.'), answers('Three.')] }),
  run: async (harness) => {
    const { agent, conversation } = harness
    const { turnId } = await harness.say('First.')
    await agent.feedback(conversation, { turnId, reaction: 'not_ok', text: 'Too short.' })
    await agent.feedback(conversation, { turnId, reaction: 'not_ok', text: 'Far too short.' })
    await agent.feedback(conversation, { turnId, origin: 'machine', reaction: 'ok', confidence: 0.69, text: 'unsure' })
    await agent.feedback(conversation, { turnId: 'turn_0_gone00', reaction: 'ok', text: 'of a turn that is not there' })
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
