import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answered, runTurnWith, sendWith } from '../../support/watch-turn.ts'

export default {
  title: 'an answer that only repeats the deferred one is accepted at once and recorded once',
  setup: () => ({
    settings: { exitGraceMs: 60_000 },
    replies: [reply.answer('Rome: clear, 21 degrees.'), reply.answer('rome:  clear, 21 degrees.')],
  }),
  run: async (harness) => {
    const { answer } = await runTurnWith(harness, 'The weather in Rome?', { when: answered, act: sendWith('Thanks!') })
    expect(answer).toBe('rome:  clear, 21 degrees.')
  },
} satisfies Scenario
