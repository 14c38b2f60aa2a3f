import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { search } from '../../support/scenario-tools.ts'

export default {
  title: 'sources get numbers that stay theirs; an answer that cites one that does not exist is noticed, and the number goes nowhere',
  cast: () => ({
    tools: [search()],
    replies: [
      calls('web_tools.web_search', { query: 'doors' }),
      answers('Doors are red [[S:1,2]] and blue [[S:7]].'),
      calls('web_tools.web_search', { query: 'doors' }),
      answers('Still red [[S:2]].'),
    ],
  }),
  act: async (stage) => {
    await stage.say('Which colour are doors?')
    await stage.say('Are you sure?')
  },
  prompt: true,
} satisfies Scenario
