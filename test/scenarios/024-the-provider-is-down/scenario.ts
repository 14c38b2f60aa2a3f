import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const down = { error: { kind: 'overloaded', http_status: 503, retryable: true, message: 'Overloaded' } } as const

export default {
  title: 'a provider that stays down is tried three times; the user reads why, the prompt is kept, and the next turn works',
  setup: () => ({ replies: [down, down, down, reply.answer('Here I am.')] }),
  run: async (harness) => {
    await harness.say('Please do it.')
    await harness.say('Are you there?')
  },
  prompt: true,
} satisfies Scenario
