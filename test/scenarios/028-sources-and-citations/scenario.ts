import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { search } from '../../support/scenario-tools.ts'

export default {
  title: 'a source keeps its number; an answer that cites a missing source gets a warning, and the citation is removed',
  setup: () => ({
    tools: [search()],
    replies: [
      reply.call('web_tools.web_search', { query: 'doors' }),
      reply.answer('Doors are red [[S:1,2]] and blue [[S:7]].'),
      reply.call('web_tools.web_search', { query: 'doors' }),
      reply.answer('Still red [[S:2]].'),
    ],
  }),
  run: async (harness) => {
    await harness.say('Which colour are doors?')
    await harness.say('Are you sure?')
  },
  prompt: true,
} satisfies Scenario
