import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answered, runTurnWith, stopTurn } from '../../support/watch-turn.ts'

export default {
  title: 'a stop after the complete answer changes nothing',
  setup: () => ({ settings: { exitGraceMs: 60_000 }, replies: [reply.answer('It is 21 degrees.')] }),
  run: async (harness) => {
    const { exitReason, answer } = await runTurnWith(harness, 'How warm is it?', { when: answered, act: stopTurn })
    expect([exitReason, answer]).toEqual(['complete', 'It is 21 degrees.'])
  },
} satisfies Scenario
