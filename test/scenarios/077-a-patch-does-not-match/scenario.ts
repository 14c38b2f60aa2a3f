import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const patch = (text: string) => reply.call('react.patch', { path: 'files/prices.json', channel: 'canvas', patch: text, kind: 'display' })
const prices = '{\n  "soup": 4,\n  "tea": 2\n}\n'

export default {
  title:
    'a patch that does not match changes nothing and reports why; a patch that makes the file invalid is kept; a third patch repairs it',
  setup: () => ({
    replies: [
      reply.call('react.write', { path: 'files/prices.json', channel: 'canvas', content: prices, kind: 'display' }),
      patch('@@ -2,2 +2,2 @@\n-  "soup": 5,\n+  "soup": 6,\n   "tea": 2\n'),
      patch('@@ -2,2 +2,3 @@\n-  "soup": 4,\n+  "soup": 6,\n   "tea": 2\n+  "milk": 1\n'),
      patch('@@ -3 +3 @@\n-  "tea": 2\n+  "tea": 2,\n'),
      reply.answer('Soup is 6 now.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
