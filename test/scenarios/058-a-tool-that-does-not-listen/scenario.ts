import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool } from '../../support/scenario-tools.ts'
import { runTurnWith, steerWith, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a tool that ignores its signal is abandoned, and its late result is ignored',
  setup: () => ({
    settings: { stopGraceMs: 10 },
    tools: [slowTool({ ignoresSignal: true, endsAfterMs: 300 })],
    replies: [reply.call('slow.work'), { text: reply.answer('Then without it.'), delayMs: 350 }],
  }),
  run: async (harness) => void (await runTurnWith(harness, 'Do it.', { when: toolStarted, act: steerWith('Never mind.') })),
} satisfies Scenario
