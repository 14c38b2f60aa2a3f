import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'a plan call that makes no sense changes no plan; call, notice and one error result are on record, and the turn goes on',
  cast: () => ({
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
