import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { failingTools } from '../../support/scenario-tools.ts'

export default {
  title: 'a tool that throws, returns an error or times out is recorded as a call, a notice and one error result; the turn continues',
  setup: () => ({
    tools: failingTools(),
    replies: [
      calls('faulty.throws', {}),
      calls('faulty.refuses', {}),
      calls('faulty.dawdles', {}),
      calls('faulty.checks', { amount: -1 }),
      answers('Nothing works today.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
