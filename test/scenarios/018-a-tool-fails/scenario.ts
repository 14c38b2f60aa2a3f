import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { failingTools } from '../../support/scenario-tools.ts'

export default {
  title: 'a tool that throws, returns an error or times out is recorded as a call, a notice and one error result; the turn continues',
  setup: () => ({
    tools: failingTools(),
    replies: [
      reply.call('faulty.throws', {}),
      reply.call('faulty.refuses', {}),
      reply.call('faulty.dawdles', {}),
      reply.call('faulty.checks', { amount: -1 }),
      reply.answer('Nothing works today.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
