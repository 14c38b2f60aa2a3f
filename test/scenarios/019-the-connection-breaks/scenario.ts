import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking it up.' })

export default {
  title: 'a stream that breaks after the user has seen text is not retried silently: a notice is recorded and another round starts',
  channelsOnly: 'only a reply in channels shows that an answer is complete',
  setup: () => ({
    tools: [weather()],
    replies: [
      { text: call.slice(0, -20), error: { kind: 'connection', retryable: true, error_type: 'ECONNRESET' } },
      call,
      reply.answer('Clear.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
