import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const down = { error: { kind: 'overloaded', http_status: 503, retryable: true, message: 'Overloaded' } } as const

export default {
  title: 'a provider that stays down is tried three times; the user is told, the prompt is kept, and the next turn works',
  cast: () => ({ replies: [down, down, down, answers('Here I am.')] }),
  act: async (stage) => {
    await stage.say('Please do it.')
    await stage.say('Are you there?')
  },
  prompt: true,
} satisfies Scenario
