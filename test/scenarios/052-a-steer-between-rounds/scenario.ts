import type { Harness } from '../../../src/testing/harness.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'
import { steerWith } from '../../support/watch-turn.ts'

let harness: Harness | undefined

/** Makes the user send a followup while the tool runs, so that the followup arrives before the result. */
const withFollowup = (tool: Tool): Tool => ({
  ...tool,
  async run(params, call) {
    await harness?.agent.send(call.conversationId, 'And in Paris?')
    return tool.run(params, call)
  },
})

export default {
  title: 'a steer that comes after one fold and before the next model call is folded before the model is asked',
  setup: () => ({
    tools: [withFollowup(weather())],
    replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear in Paris, too.')],
    hooks: [
      { onExternalEvent: async ({ type }) => void (type === 'followup' && harness && (await steerWith('In one sentence.')(harness))) },
    ],
  }),
  run: async (given) => {
    harness = given
    await given.say('The weather in Rome?')
  },
} satisfies Scenario
