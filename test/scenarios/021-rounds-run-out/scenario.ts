import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = reply.call('weather.today', { city: 'Rome' })

export default {
  title: 'when the rounds run out, one more call may only answer; if it does not, a fixed text names the open steps and the created files',
  setup: () => ({
    tools: [weather()],
    settings: { maxRounds: 3 },
    replies: [
      reply.call('react.plan', { mode: 'new', steps: ['Look at Rome', 'Look at Oslo', 'Compare'] }),
      reply.call(
        'react.write',
        { path: 'files/rome.md', channel: 'canvas', content: 'Clear.', kind: 'file' },
        { notes: '✓ [1] Look at Rome' },
      ),
      call,
      call,
    ],
  }),
  prompt: true,
} satisfies Scenario
