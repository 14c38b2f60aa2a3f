import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'a text without any channel is repaired once; the next such text is the answer',
  channelsOnly: 'plain text is an answer',
  setup: () => ({ replies: ['It is clear in Rome.', 'It is clear in Rome today.', reply.answer('And warm.')] }),
  run: async (harness) => {
    await harness.say('How is Rome?')
    await harness.say('Warm, too?')
  },
  prompt: true,
} satisfies Scenario
