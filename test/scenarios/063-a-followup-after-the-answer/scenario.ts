import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answered, runTurnWith, sendWith, stopTurn } from '../../support/watch-turn.ts'

export default {
  title: 'loop 17.89: a followup in the grace period after an answer keeps the turn open; both answers are in the timeline, numbered',
  setup: () => ({
    settings: { exitGraceMs: 60_000 },
    replies: [reply.answer('Rome: clear.'), reply.answer('Paris: rain.', { followups: ['And Oslo?'] })],
  }),
  run: async (harness) =>
    void (await runTurnWith(
      harness,
      'The weather in Rome?',
      { when: answered, act: sendWith('And in Paris?') },
      { when: answered, act: stopTurn },
    )),
  prompt: true,
} satisfies Scenario
