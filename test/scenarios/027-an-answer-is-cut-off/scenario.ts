import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'an answer that the output limit cut off is kept and marked; the model reads about it in the next turn',
  cast: () => ({
    replies: [{ text: answers('A long answer that goes on and on').slice(0, -24), finish: 'length' }, answers('… and on.')],
  }),
  act: async (stage) => {
    await stage.say('Tell me everything.')
    await stage.say('Go on.')
  },
  prompt: true,
} satisfies Scenario
