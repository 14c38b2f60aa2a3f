import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })
const names = ['link.txt', 'linked/passwd', 'folder.txt', 'empty.txt', 'broken.json', 'not-a.pdf', 'good.txt']

export default {
  title: 'links, folders, empty files and files with a wrong content are refused, each with its reason; a good file is delivered',
  setup: () => ({
    sandbox: scriptedSandbox({
      hostile: async ({ write, folders }) => {
        const files = join(folders.out, folders.turn, 'files')
        await symlink('/etc/passwd', join(files, 'link.txt'))
        await symlink('/etc', join(files, 'linked'))
        await mkdir(join(files, 'folder.txt'))
        await write('files/empty.txt', '')
        await write('files/broken.json', '{"a":')
        await write('files/not-a.pdf', 'text')
        await write('files/good.txt', 'good')
      },
    }),
    replies: [
      reply.call(python, { contract: names.map((name) => file(`files/${name}`, 'A file.')) }, { code: 'hostile' }),
      reply.answer('Only one file is good.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
