import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = calls('weather.today', { city: 'Rome' }, { notes: 'Looking it up.' })

export default {
  title: 'a stream that breaks after the user has seen something is not repeated behind their back: a notice, and another round',
  cast: () => ({
    tools: [weather()],
    replies: [
      { text: call.slice(0, -20), error: { kind: 'connection', retryable: true, error_type: 'ECONNRESET' } },
      call,
      answers('Clear.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
