import { expect } from 'vitest'
import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answered, sayThen, stops } from '../../support/watch-turn.ts'

export default {
  title: 'a stop when the answer is complete changes nothing: there is nothing left to stop',
  cast: () => ({ settings: { exitGraceMs: 60_000 }, replies: [answers('It is 21 degrees.')] }),
  act: async (stage) => {
    const { exitReason, answer } = await sayThen(stage, 'How warm is it?', { when: answered, act: stops })
    expect([exitReason, answer]).toEqual(['complete', 'It is 21 degrees.'])
  },
} satisfies Scenario
