import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title: 'a program writes the files of its contract: the report lists them, and each has its digest and its content',
  setup: () => ({
    sandbox: scriptedSandbox({
      sums: async ({ write, print }) => {
        await write('files/sums.csv', 'city,sum\nRome,3\n')
        await write('outputs/notes.md', 'Rome has 3 [[S:1]].\n')
        await write('outputs/data.bin', new Uint8Array([0, 255, 1]))
        print('2 rows read')
      },
    }),
    replies: [
      reply.call(
        python,
        {
          contract: [
            file('files/sums.csv', 'The sums.'),
            { ...file('outputs/notes.md', 'Notes.'), visibility: 'internal' },
            file('outputs/data.bin', 'Raw data.'),
          ],
          prog_name: 'sums',
        },
        { code: 'sums\nprint("2 rows read")' },
      ),
      reply.answer('Rome: 3.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
