import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answered, sayThen, steers } from '../../support/watch-turn.ts'

export default {
  title: 'a steer in the grace after an answer holds it back as the last word: both answers stand at the end',
  cast: () => ({ settings: { exitGraceMs: 60_000 }, replies: [answers('It is 21 degrees.'), answers('It is 70 degrees Fahrenheit.')] }),
  act: async (stage) => {
    const sayings = sayThen(
      stage,
      'How warm is it?',
      { when: answered, act: steers('In Fahrenheit!') },
      { when: answered, act: ({ agent, conversation }) => agent.stop(conversation) },
    )
    await sayings
  },
} satisfies Scenario
