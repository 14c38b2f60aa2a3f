import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const look = (notes: string) => reply.call('weather.today', { city: 'Rome' }, { notes })

export default {
  title:
    'loop 17.82, loop 17.83: marks in the notes acknowledge steps before the tool runs, each only once, and not in a round that changes the plan',
  setup: () => ({
    tools: [weather()],
    replies: [
      reply.call('react.plan', { mode: 'new', steps: ['Look up Rome', 'Look up Paris'] }, { notes: '✓ [1] not in this round' }),
      look('✓ [1] Rome\n… [2] Paris'),
      look('✓ [1] Rome\n… [2] Paris'),
      look('✗ 7. there is no such step'),
      (request) => reply.call('react.plan', { mode: 'replace', plan_id: planId(request), steps: ['Look up Oslo'] }),
      (request) => reply.call('react.plan', { mode: 'close', plan_id: planId(request) }),
      reply.answer('Done.'),
    ],
  }),
  prompt: true,
} satisfies Scenario

const planId = (request: unknown) => /plan_id=(plan:\w+:\w+) \(current\)/.exec(JSON.stringify(request))?.[1]
