import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const write = (path: string) => calls('react.write', { path, channel: 'canvas', content: 'x', kind: 'file' })

export default {
  title:
    'a path of another turn is moved into this one, and a file that the canvas cannot show is written all the same; both are mentioned',
  cast: () => ({
    replies: [write('fi:turn_0.files/old.md'), write('files/data.bin'), write('../../etc/passwd'), answers('Written.')],
  }),
  prompt: true,
} satisfies Scenario
