import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const write = (path: string) => reply.call('react.write', { path, channel: 'canvas', content: 'x', kind: 'file' })

export default {
  title:
    'a path of another turn is moved into the current one, and a file that the canvas can not show is still written; a notice reports each',
  setup: () => ({
    replies: [write('fi:turn_0.files/old.md'), write('files/data.bin'), write('../../etc/passwd'), reply.answer('Written.')],
  }),
  prompt: true,
} satisfies Scenario
