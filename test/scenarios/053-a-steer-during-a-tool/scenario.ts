import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow } from '../../support/scenario-tools.ts'
import { sayThen, steers, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a steer stops the running tool through its signal; the call has a result that says so, and the turn goes on elsewhere',
  cast: () => ({ tools: [slow()], replies: [calls('slow.work'), answers('Then without it.')] }),
  act: async (stage) => void (await sayThen(stage, 'Do it.', { when: toolStarted, act: steers('Never mind the slow way.') })),
  prompt: true,
} satisfies Scenario
