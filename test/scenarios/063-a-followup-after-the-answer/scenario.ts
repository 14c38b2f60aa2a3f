import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answered, followsUp, sayThen, stops } from '../../support/watch-turn.ts'

export default {
  title: 'loop 17.89: a followup in the grace after an answer defers it; in the end both answers stand, numbered',
  cast: () => ({
    settings: { exitGraceMs: 60_000 },
    replies: [answers('Rome: clear.'), answers('Paris: rain.', { followups: ['And Oslo?'] })],
  }),
  act: async (stage) =>
    void (await sayThen(
      stage,
      'The weather in Rome?',
      { when: answered, act: followsUp('And in Paris?') },
      { when: answered, act: stops },
    )),
  prompt: true,
} satisfies Scenario
