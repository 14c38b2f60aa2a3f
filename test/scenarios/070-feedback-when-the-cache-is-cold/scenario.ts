import { expect } from 'vitest'
import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'once the cache is cold, feedback is put into the turn it is about and announced once',
  cast: () => ({ replies: [answers('One.'), answers('Two.'), answers('Three.')] }),
  act: async (stage) => {
    const { agent, clock, conversation } = stage
    const { turnId } = await stage.say('First.')
    await stage.say('Second.')
    await agent.feedback(conversation, { turnId, reaction: 'not_ok', text: 'Too short.' })
    await agent.feedback(conversation, { turnId, origin: 'machine', reaction: 'ok', confidence: 0.9, text: 'It was on topic.' })
    clock.advance(3_600_000)
    await stage.say('Third.')
    expect((await stage.timeline()).inbox).toEqual([])
  },
  prompt: true,
} satisfies Scenario
