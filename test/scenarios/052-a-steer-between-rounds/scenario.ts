import type { Harness } from '../../../src/testing/harness.ts'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import { weather } from '../../support/cast.ts'
import { sayThen, steers, toolStarted } from '../../support/moments.ts'
import type { Scenario } from '../../support/scenario.ts'

let stage: Harness | undefined

export default {
  title: 'a steer that comes after one fold and before the next model call is folded before the model is asked',
  cast: () => ({
    tools: [weather()],
    replies: [calls('weather.today', { city: 'Rome' }), answers('Clear in Paris, too.')],
    hooks: [{ onExternalEvent: async ({ kind }) => void (kind === 'followup' && stage && (await steers('In one sentence.')(stage))) }],
  }),
  act: async (given) => {
    stage = given
    await sayThen(given, 'The weather in Rome?', {
      when: toolStarted,
      act: ({ agent, conversation }) => agent.followUp(conversation, 'And in Paris?'),
    })
  },
} satisfies Scenario
