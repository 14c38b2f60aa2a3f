import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { search } from '../../support/scenario-tools.ts'

export default {
  title: 'an invalid checkout checks out nothing; an unknown source in a parameter is dropped with a warning',
  setup: () => ({
    tools: [search()],
    replies: [
      reply.call('react.checkout', { mode: 'merge', paths: ['fi:turn_1767225600000_000002.files/site'] }),
      reply.call('react.checkout', { mode: 'replace' }),
      reply.call('react.checkout', { mode: 'replace', paths: ['../site'] }),
      reply.call('web_tools.web_search', { query: 'sites' }),
      reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: 'ref:so:sources_pool[1,9]', kind: 'display' }),
      reply.answer('There was nothing to check out.'),
    ],
  }),
} satisfies Scenario
