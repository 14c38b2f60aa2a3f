import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'an invalid plan call changes no plan; call, notice and one error result are recorded, and the turn continues',
  setup: () => ({
    replies: [
      reply.call('react.plan', { mode: 'new', steps: ['Look', 'Write'] }),
      reply.call('react.plan', { mode: 'dance' }),
      reply.call('react.plan', { mode: 'activate' }),
      reply.call('react.plan', { mode: 'new', steps: [' '] }),
      reply.call('react.plan', { mode: 'close', plan_id: 'plan:nowhere' }),
      reply.answer('I kept the plan.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
