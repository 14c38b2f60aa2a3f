import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const asking = reply
  .answer('Which Rome, the one in Italy?', { action: 'exit' })
  .replace('{"action":"exit"}', '{"action":"exit","clarification_questions":["Which Rome?"]}')

export default {
  title: 'an answer that marks its questions writes a clarification, and the next message resolves it, once',
  channelsOnly: 'the questions are a field of an action',
  setup: () => ({ replies: [asking, reply.answer('Clear.'), reply.answer('Still clear.')] }),
  run: async (harness) => {
    await harness.say('The weather in Rome?')
    await harness.say('Yes, Italy.')
    await harness.say('And now?')
  },
  prompt: true,
} satisfies Scenario
