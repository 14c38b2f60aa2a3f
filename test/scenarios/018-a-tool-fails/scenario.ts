import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { faulty } from '../../support/scenario-tools.ts'

export default {
  title: 'a tool that throws, says that it could not, or takes too long is a call, a notice and one error result; the turn goes on',
  cast: () => ({
    tools: faulty(),
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
