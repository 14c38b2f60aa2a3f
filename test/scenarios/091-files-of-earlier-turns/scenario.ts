import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'files of earlier turns are pulled and searched; each unavailable path is named with its reason',
  setup: () => ({
    replies: [
      reply.call('react.write', { path: 'files/notes/a.md', channel: 'canvas', content: 'rome\nparis', kind: 'display' }),
      reply.answer('Noted.'),
      reply.call('react.pull', {
        paths: ['fi:turn_1767225600000_000002.files', 'fi:turn_0.files/x.md', 'fi:turn_0.outputs/', 'ks:guide.md'],
      }),
      reply.call('react.search_files', { root: 'turn_1767225600000_000002', pattern: 'par.s' }),
      reply.call('react.search_files', { root: '../..', pattern: '(' }),
      reply.call('react.pull', { paths: ['fi:turn_0.files/x.md'] }),
      reply.answer('It says Paris.'),
    ],
  }),
  async run(harness) {
    await harness.say('Note this.')
    await harness.say('What did I note?')
  },
  prompt: true,
} satisfies Scenario
