import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'after two failed repairs the turn ends with a plain sentence that does not mention the protocol; the next turn works',
  channelsOnly: 'the replies break rules of channels',
  setup: () => ({ replies: ['', 'Sure.', '<channel:action>{}</channel:action>', reply.answer('Here I am.')] }),
  run: async (harness) => {
    await harness.say('Please do it.')
    await harness.say('Are you there?')
  },
  prompt: true,
} satisfies Scenario
