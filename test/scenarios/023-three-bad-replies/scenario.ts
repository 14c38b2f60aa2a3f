import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'after two repairs in vain the turn ends in plain words, without a word about the protocol; the next turn works',
  cast: () => ({ replies: ['', 'Sure.', '<channel:action>{}</channel:action>', answers('Here I am.')] }),
  act: async (stage) => {
    await stage.say('Please do it.')
    await stage.say('Are you there?')
  },
  prompt: true,
} satisfies Scenario
