import { answers, calls } from '../../../src/testing/scripted-model.ts'
import { action, answer, thinking } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

export default {
  title: 'what can be understood is accepted, and the model is told how to write it next time',
  cast: () => ({
    tools: [weather()],
    replies: [
      action('{"action":"call_tool","notes":"","tool_call":{"tool_id":"weather.today","params":{"city":"Rome",}},}'),
      `${thinking}${answer('Clear.')}`,
      action('{"action":"call_tool","notes":"a","notes":"b","tool_call":{"tool_id":"weather.today","params":{"city":"Oslo"}}}'),
      `${action({ action: 'complete', final_answer: 'From the field.' })}${answer('From the channel.')}\n<channel:followup>{"followups": [}</channel:followup>`,
      calls('react.memory_hide', { path: 'ar:nowhere' }),
      answers('Done.'),
    ],
  }),
  act: async (stage) => {
    await stage.say('How is Rome?')
    await stage.say('And Oslo?')
    await stage.say('Hide it.')
  },
  prompt: true,
} satisfies Scenario
