import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { localScope } from '../../../src/core/scope.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })
const earlier = 'turn_1767225600000_000002'
const code = `sums\nopen(OUTPUT_DIR + "/${earlier}/files/notes/a.csv")`
const contract = [file('files/sums.csv', 'The sums.')]

export default {
  title: 'a program that names a file of an earlier turn runs only after the file was pulled; the error says how to pull it',
  setup: () => ({
    sandbox: scriptedSandbox({
      sums: async ({ write, folders }) => write('files/sums.csv', await readFile(join(folders.out, earlier, 'files/notes/a.csv'), 'utf8')),
    }),
    replies: [
      reply.call('react.write', { path: 'files/notes/a.csv', channel: 'canvas', content: 'rome,3', kind: 'display' }),
      reply.answer('Noted.'),
      reply.call(python, { contract }, { code }),
      reply.call('react.pull', { paths: [`fi:${earlier}.files/notes/a.csv`] }),
      reply.call(python, { contract }, { code }),
      reply.answer('Rome has 3.'),
    ],
  }),
  async run(harness) {
    await harness.say('Note this.')
    const { files } = await harness.workspaces.open(localScope, harness.conversationId)
    await files.remove(`${earlier}/files/notes/a.csv`) // the folders of closed turns are removed, which this harness does not do
    await harness.say('What is the sum?')
  },
  prompt: true,
} satisfies Scenario
