import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title:
    'a new or changed file that the contract does not name is kept as internal if it is in outputs/, and a new one only named if it is in files/',
  setup: () => ({
    sandbox: scriptedSandbox({
      first: async ({ write }) => write('outputs/old.csv', 'a\n'),
      second: async ({ write }) => {
        await write('files/sums.csv', 'a\n')
        await write('files/app/extra.txt', 'b')
        await write('outputs/old.csv', 'changed\n')
        await write('outputs/extra.csv', 'c\n')
        await write('outputs/empty.csv', '')
        await write('outputs/tmp/scratch.csv', 'd\n')
      },
    }),
    replies: [
      reply.call(python, { contract: [file('outputs/old.csv', 'Rows.')] }, { code: 'first' }),
      reply.call(python, { contract: [file('files/sums.csv', 'The sums.')] }, { code: 'second' }),
      reply.answer('Done.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
