import { expect } from 'vitest'
import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answering, sayThen, stops } from '../../support/watch-turn.ts'

const begun = answers('Rome was founded, as legend has it, by two brothers').replace(/<\/channel:answer>$/, '')

export default {
  title: 'loop 17.91: a blank steer while the model writes ends the turn without another model call, and keeps what was written',
  cast: () => ({ replies: [{ text: begun, chunks: 40, stall: true as const }, answers('never asked for')] }),
  act: async (stage) => {
    const { exitReason, ok, followups } = await sayThen(stage, 'Tell me about Rome.', { when: answering, act: stops })
    expect({ exitReason, ok, followups, left: stage.model.left }).toEqual({ exitReason: 'steer', ok: true, followups: [], left: 1 })
  },
} satisfies Scenario
