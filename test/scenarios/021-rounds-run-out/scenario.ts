import { calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = calls('weather.today', { city: 'Rome' })

export default {
  title:
    'rounds run out: one more call that may only answer; when it does not, fixed words name the open steps and the files that were made',
  cast: () => ({
    tools: [weather()],
    settings: { maxRounds: 3 },
    replies: [
      calls('react.plan', { mode: 'new', steps: ['Look at Rome', 'Look at Oslo', 'Compare'] }),
      calls('react.write', { path: 'files/rome.md', channel: 'canvas', content: 'Clear.', kind: 'file' }, { notes: '✓ [1] Look at Rome' }),
      call,
      call,
    ],
  }),
  prompt: true,
} satisfies Scenario
