import { reply } from '../../../src/testing/scripted-model.ts'
import { action, answer } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = reply.call('weather.today', { city: 'Rome' })
const tool_call = { tool_id: 'weather.today', params: { city: 'Rome' } }

export default {
  title: 'a completion needs an answer and no call; a call needs a tool and no answer',
  channelsOnly: 'the replies break rules of channels',
  setup: () => ({
    tools: [weather()],
    replies: [
      action({ action: 'complete' }),
      `${call}${answer('It is clear.')}`,
      call,
      action({ action: 'exit', tool_call }),
      action({ action: 'call_tool', tool_call: { params: { city: 'Rome' } } }),
      call,
      action({ action: 'complete', notes: 'I am done.', final_answer: 'Clear.' }),
    ],
  }),
  prompt: true,
} satisfies Scenario
