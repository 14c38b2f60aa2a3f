import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow } from '../../support/scenario-tools.ts'
import { sayThen, steers, toolStarted } from '../../support/watch-turn.ts'

export default {
  title: 'a tool that ignores its signal is left behind, and its late result is ignored',
  cast: () => ({
    settings: { stopGraceMs: 10 },
    tools: [slow({ deaf: true, endsAfterMs: 300 })],
    replies: [calls('slow.work'), { text: answers('Then without it.'), delayMs: 350 }],
  }),
  act: async (stage) => void (await sayThen(stage, 'Do it.', { when: toolStarted, act: steers('Never mind.') })),
} satisfies Scenario
