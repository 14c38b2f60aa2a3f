import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

const write = (path: string, content: string) => reply.call('react.write', { path, channel: 'canvas', content, kind: 'display' })

export default {
  title: 'a project is checked out, changed and published: the second turn stores a complete version and reports only the changes',
  setup: () => ({
    replies: [
      write('files/site/index.md', '# Home'),
      write('files/site/about.md', '# About'),
      reply.answer('The site is there.'),
      reply.call('react.checkout', { mode: 'replace', paths: ['fi:turn_1767225600000_000002.files/site'] }),
      write('files/site/index.md', '# Welcome'),
      reply.call('react.checkout', { mode: 'replace', paths: ['fi:turn_1767225600000_000002.files/site'] }),
      reply.answer('The page says Welcome.'),
    ],
  }),
  async run(harness) {
    await harness.say('Make a site.')
    await harness.say('Change the title.')
  },
  prompt: true,
} satisfies Scenario
