import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const announced = (request: unknown) =>
  [...JSON.stringify(request).matchAll(/plan_id=(plan:\w+:\w+)( \(current\))?/g)].map(([, id, current]) => ({
    id,
    current: current !== undefined,
  }))
const other = (request: unknown) => announced(request).find(({ current }) => !current)?.id

export default {
  title: 'loop 17.85, loop 17.86: a finished plan is not announced and does not promote another plan; an unknown plan can not be activated',
  setup: () => ({
    tools: [weather()],
    replies: [
      reply.call('react.plan', { mode: 'new', steps: ['Pack', 'Leave'] }),
      reply.call('react.plan', { mode: 'new', steps: ['Look up Rome'] }),
      reply.call('react.plan', { mode: 'activate', plan_id: 'plan:nowhere:00000000' }),
      reply.call('weather.today', { city: 'Rome' }, { notes: '✓ [1] Rome' }),
      (request) => {
        expect(announced(request)).toEqual([{ id: expect.any(String), current: false }])
        return reply.call('weather.today', { city: 'Rome' }, { notes: '✓ [1] not for a plan that is not current' })
      },
      (request) => reply.call('react.plan', { mode: 'activate', plan_id: other(request) }),
      reply.answer('Done.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
