import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'files of earlier turns are pulled and searched; each unavailable path is named with its reason',
  setup: () => ({
    replies: [
      calls('react.write', { path: 'files/notes/a.md', channel: 'canvas', content: 'rome\nparis', kind: 'display' }),
      answers('Noted.'),
      calls('react.pull', { paths: ['fi:turn_1767225600000_000002.files', 'fi:turn_0.files/x.md', 'fi:turn_0.outputs/', 'ks:guide.md'] }),
      calls('react.search_files', { root: 'turn_1767225600000_000002', pattern: 'par.s' }),
      calls('react.search_files', { root: '../..', pattern: '(' }),
      calls('react.pull', { paths: ['fi:turn_0.files/x.md'] }),
      answers('It says Paris.'),
    ],
  }),
  async run(harness) {
    await harness.say('Note this.')
    await harness.say('What did I note?')
  },
  prompt: true,
} satisfies Scenario
