import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title:
    'tools 18.73: all files were written and the program failed (case A): the report begins with the error, and the files are delivered',
  setup: () => ({
    sandbox: scriptedSandbox({
      sums: async ({ write, print }) => {
        await write('files/sums.csv', 'city,sum\nRome,3\n')
        print('Traceback (most recent call last):')
        throw new RangeError('no more rows')
      },
    }),
    replies: [
      reply.call(python, { contract: [file('files/sums.csv', 'The sums.')] }, { code: 'sums' }),
      reply.answer('Rome: 3, but the program failed.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
