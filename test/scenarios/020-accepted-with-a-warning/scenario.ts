import { reply } from '../../../src/testing/scripted-model.ts'
import { action, answer, thinking } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'a malformed reply that can be understood is accepted, and a warning tells the model the correct form',
  channelsOnly: 'the replies have channels in unusual forms',
  setup: () => ({
    tools: [weather()],
    replies: [
      action('{"action":"call_tool","notes":"","tool_call":{"tool_id":"weather.today","params":{"city":"Rome",}},}'),
      `${thinking}${answer('Clear.')}`,
      action('{"action":"call_tool","notes":"a","notes":"b","tool_call":{"tool_id":"weather.today","params":{"city":"Oslo"}}}'),
      `${action({ action: 'complete', final_answer: 'From the field.' })}${answer('From the channel.')}\n<channel:followup>{"followups": [}</channel:followup>\n<channel:usage>none</channel:usage>`,
      reply.call('react.memory_hide', { path: 'ar:nowhere' }),
      reply.answer('Done.'),
    ],
  }),
  run: async (harness) => {
    await harness.say('How is Rome?')
    await harness.say('And Oslo?')
    await harness.say('Hide it.')
  },
  prompt: true,
} satisfies Scenario
