import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answered, runTurnWith, steerWith } from '../../support/watch-turn.ts'

export default {
  title: 'a steer in the grace period after an answer keeps the turn open: both answers are in the timeline',
  setup: () => ({
    settings: { exitGraceMs: 60_000 },
    replies: [reply.answer('It is 21 degrees.'), reply.answer('It is 70 degrees Fahrenheit.')],
  }),
  run: async (harness) => {
    await runTurnWith(
      harness,
      'How warm is it?',
      { when: answered, act: steerWith('In Fahrenheit!') },
      { when: answered, act: ({ agent, conversationId }) => agent.stop(conversationId) },
    )
  },
} satisfies Scenario
