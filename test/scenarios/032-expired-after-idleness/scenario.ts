import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { library } from '../../support/scenario-tools.ts'

const turns = Array.from({ length: 8 }, (_, index) => [calls('library.fetch', { page: index }), answers(`Page ${index} is read.`)])

export default {
  title: 'an hour later the cache is cold: old turns are folded to a line each, a message says so, and the next turn folds nothing again',
  cast: () => ({ tools: [library()], replies: [...turns.flat(), answers('Red.'), answers('Yes.')] }),
  act: async (stage) => {
    for (let turn = 0; turn < turns.length; turn++) await stage.say(`Read page ${turn}.`)
    stage.clock.advance(3_600_000)
    await stage.say('Which colour are the doors?')
    await stage.say('Sure?')
  },
  prompt: true,
} satisfies Scenario
