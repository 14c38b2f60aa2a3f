import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'an answer cut off by the output limit is kept and marked; the model reads about it in the next turn',
  setup: () => ({
    replies: [{ text: reply.answer('A long answer that goes on and on').slice(0, -24), finish: 'length' }, reply.answer('… and on.')],
  }),
  run: async (harness) => {
    await harness.say('Tell me everything.')
    await harness.say('Go on.')
  },
  prompt: true,
} satisfies Scenario
