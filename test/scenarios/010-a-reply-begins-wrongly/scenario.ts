import { reply } from '../../../src/testing/scripted-model.ts'
import { thinking } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const call = reply.call('weather.today', { city: 'Rome' })

export default {
  title:
    'a reply that does not begin with the thinking channel, or has no action, is rejected and not shown to the user; a notice tells the model how to begin',
  channelsOnly: 'the replies break rules of channels',
  setup: () => ({
    tools: [weather()],
    replies: [`Sure! ${call}`, '<channel:answer>Clear.</channel:answer>', call, '', thinking, reply.answer('Clear.')],
  }),
  prompt: true,
} satisfies Scenario
