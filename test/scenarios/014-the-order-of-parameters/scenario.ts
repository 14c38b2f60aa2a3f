import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const sound = { path: 'files/a.md', channel: 'canvas', content: '# A', kind: 'file' }
const write = (...names: readonly (keyof typeof sound)[]) =>
  calls('react.write', Object.fromEntries(names.map((name) => [name, sound[name]])))

export default {
  title: 'where content streams to the user the order of parameters binds: nothing is written until it is right',
  cast: () => ({
    replies: [
      write('channel', 'path', 'content', 'kind'),
      write('path', 'content', 'channel', 'kind'),
      write('path', 'channel', 'content', 'kind'),
      write('path', 'channel', 'kind', 'content'),
      answers('Written.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
