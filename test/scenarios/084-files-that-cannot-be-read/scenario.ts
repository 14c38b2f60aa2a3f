import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'tools 18.40: a read of several paths names each unreadable path with its reason, and an empty file is an error',
  setup: () => ({
    replies: [
      reply.call('react.write', { path: 'files/empty.md', channel: 'canvas', content: '', kind: 'file' }),
      reply.call('react.read', {
        paths: ['fi:turn_0.files/never.md', 'ks:guide.md', 'sk:charts', 'so:sources_pool[4]', '/etc/passwd', 'ar:turn_0.react.turn.index'],
      }),
      reply.answer('There is nothing.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
