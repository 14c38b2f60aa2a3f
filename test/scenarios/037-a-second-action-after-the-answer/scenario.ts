import { reply } from '../../../src/testing/scripted-model.ts'
import { action, answer } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const tool_call = { tool_id: 'weather.today', params: { city: 'Rome' } }

export default {
  title: 'an answer that the user has seen is kept when a second action follows it, and the next round may call',
  channelsOnly: 'the replies break rules of channels',
  setup: () => ({
    tools: [weather()],
    replies: [
      `${action({ action: 'complete' })}${answer('I will look at Rome.')}\n<channel:action>${JSON.stringify({ action: 'call_tool', tool_call })}</channel:action>`,
      reply.call('weather.today', { city: 'Rome' }),
      reply.answer('It is clear in Rome.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
