import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const asking = answers('Which Rome, the one in Italy?', { action: 'exit' }).replace(
  '{"action":"exit"}',
  '{"action":"exit","clarification_questions":["Which Rome?"]}',
)

export default {
  title: 'an answer that marks its questions writes a clarification, and the next message resolves it, once',
  cast: () => ({ replies: [asking, answers('Clear.'), answers('Still clear.')] }),
  act: async (stage) => {
    await stage.say('The weather in Rome?')
    await stage.say('Yes, Italy.')
    await stage.say('And now?')
  },
  prompt: true,
} satisfies Scenario
