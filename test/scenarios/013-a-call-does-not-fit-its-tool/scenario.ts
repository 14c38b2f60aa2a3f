import { reply } from '../../../src/testing/scripted-model.ts'
import { action } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = reply.call('weather.today', { city: 'Rome' })

export default {
  title:
    'a call is checked before it runs: its tool, its parameters and their types; an invalid optional parameter is dropped with a warning',
  channelsOnly: 'parameters may have any order, and arguments that are no object are refused by another rule',
  setup: () => ({
    tools: [weather()],
    replies: [
      reply.call('weather.tomorrow', { city: 'Rome' }),
      reply.call('io_tools.tool_call', { tool_id: 'weather.today' }),
      reply.call('weather.today', { city: 'Rome', colour: 'red', days: 'two' }),
      action({ action: 'call_tool', tool_call: { tool_id: 'weather.today', params: 'Rome' } }),
      reply.call('weather.today', { days: 2 }),
      call,
      reply.call('weather.today', { city: 7 }),
      reply.call('weather.today', { days: 2, city: 'Rome' }),
      reply.answer('Clear.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
