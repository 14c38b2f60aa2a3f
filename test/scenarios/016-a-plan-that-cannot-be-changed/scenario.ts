import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'an invalid plan call changes no plan; call, notice and one error result are recorded, and the turn continues',
  setup: () => ({
    replies: [
      calls('react.plan', { mode: 'new', steps: ['Look', 'Write'] }),
      calls('react.plan', { mode: 'dance' }),
      calls('react.plan', { mode: 'activate' }),
      calls('react.plan', { mode: 'new', steps: [' '] }),
      calls('react.plan', { mode: 'close', plan_id: 'plan:nowhere' }),
      answers('I kept the plan.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
