import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool } from '../../support/scenario-tools.ts'
import { runTurnWith, steerWith, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a steer stops the running tool through its signal; the result of the call says so, and the turn continues with the steer',
  setup: () => ({ tools: [slowTool()], replies: [reply.call('slow.work'), reply.answer('Then without it.')] }),
  run: async (harness) => void (await runTurnWith(harness, 'Do it.', { when: toolStarted, act: steerWith('Never mind the slow way.') })),
  prompt: true,
} satisfies Scenario
