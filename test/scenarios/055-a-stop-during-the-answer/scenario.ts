import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { laneText, runTurnWith, stopTurn, whenShown } from '../../support/watch-turn.ts'

const shown = 'Rome was founded, as legend has it, by two brothers'
const unfinished = reply.answer(shown).replace(/<\/channel:answer>$/, '')

export default {
  title:
    'loop 17.91: a blank steer while the model writes ends the turn without another model call, and keeps the part of the answer that users saw',
  channelsOnly: 'the interrupted reply is shown as it was written',
  setup: () => ({ replies: [{ text: unfinished, chunks: 40, stall: true as const }, reply.answer('Romulus and Remus.')] }),
  prompt: true,
  run: async (harness) => {
    const turn = await runTurnWith(harness, 'Tell me about Rome.', { when: whenShown(shown), act: stopTurn })
    const { exitReason, ok, answer, stopped, followups } = turn
    expect({ exitReason, ok, stopped, followups, left: harness.model.left }).toEqual({
      exitReason: 'steer',
      ok: true,
      stopped: true,
      followups: [],
      left: 1,
    })
    expect([answer, laneText(turn.events, 'answer')]).toEqual([shown, shown])
    await harness.say('Go on.')
  },
} satisfies Scenario
