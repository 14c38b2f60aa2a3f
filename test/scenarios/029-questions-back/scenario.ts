import { answers } from '../../../src/testing/scripted-model.ts'
import { action, answer } from '../../support/replies.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'an answer that marks its questions is a clarification, and the next message resolves it',
  cast: () => ({
    replies: [
      `${action({ action: 'complete', clarification_questions: ['Where to?', 'When?'] })}${answer('Where do you want to go, and when?')}`,
      answers('Rome in May it is.'),
    ],
  }),
  act: async (stage) => {
    await stage.say('Plan a trip.')
    await stage.say('To Rome, in May.')
  },
  prompt: true,
} satisfies Scenario
