import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answering, runTurnWith, stopTurn } from '../../support/watch-turn.ts'

const unfinished = reply.answer('Rome was founded, as legend has it, by two brothers').replace(/<\/channel:answer>$/, '')

export default {
  title: 'loop 17.91: a blank steer while the model writes ends the turn without another model call, and keeps the text written so far',
  setup: () => ({ replies: [{ text: unfinished, chunks: 40, stall: true as const }, reply.answer('never asked for')] }),
  run: async (harness) => {
    const { exitReason, ok, followups } = await runTurnWith(harness, 'Tell me about Rome.', { when: answering, act: stopTurn })
    expect({ exitReason, ok, followups, left: harness.model.left }).toEqual({ exitReason: 'steer', ok: true, followups: [], left: 1 })
  },
} satisfies Scenario
