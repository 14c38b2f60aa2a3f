import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { library } from '../../support/scenario-tools.ts'

const turns = Array.from({ length: 8 }, (_, index) => [
  reply.call('library.fetch', { page: index }),
  reply.answer(`Page ${index} is read.`),
])

export default {
  title: 'after an hour the cache is cold: old turns are folded to one line each, a message says so, and the next turn folds nothing more',
  setup: () => ({ tools: [library()], replies: [...turns.flat(), reply.answer('Red.'), reply.answer('Yes.')] }),
  run: async (harness) => {
    for (let turn = 0; turn < turns.length; turn++) await harness.say(`Read page ${turn}.`)
    harness.clock.advance(3_600_000)
    await harness.say('Which colour are the doors?')
    await harness.say('Sure?')
  },
  prompt: true,
} satisfies Scenario
