import { reply } from '../../../src/testing/scripted-model.ts'
import { action } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = reply.call('weather.today', { city: 'Rome' })
const cut = { text: call.slice(0, -40), finish: 'length' as const }

export default {
  title:
    'an action that is not JSON, has the wrong shape, is cut off, is repeated or is unknown runs nothing; the notice says what is wrong and where',
  setup: () => ({
    tools: [weather()],
    replies: [
      action('{"action": call the weather tool}'),
      action({ action: 'call_tool', notes: ['a', 'b'], tool_call: { tool_id: 'weather.today', params: { city: 'Rome' } } }),
      call,
      cut,
      `${call}\n<channel:action>{"action": "complete"}</channel:action>`,
      call,
      action({ action: 'search', tool_call: { tool_id: 'weather.today' } }),
      reply.answer('Clear.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
