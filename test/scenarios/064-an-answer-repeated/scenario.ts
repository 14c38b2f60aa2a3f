import { expect } from 'vitest'
import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answered, followsUp, sayThen } from '../../support/watch-turn.ts'

export default {
  title: 'an answer that only repeats the one held back is believed at once, and stands there once',
  cast: () => ({ settings: { exitGraceMs: 60_000 }, replies: [answers('Rome: clear, 21 degrees.'), answers('rome:  clear, 21 degrees.')] }),
  act: async (stage) => {
    const { answer } = await sayThen(stage, 'The weather in Rome?', { when: answered, act: followsUp('Thanks!') })
    expect(answer).toBe('rome:  clear, 21 degrees.')
  },
} satisfies Scenario
