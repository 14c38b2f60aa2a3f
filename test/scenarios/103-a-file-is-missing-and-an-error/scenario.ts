import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title:
    'one file is missing and the program failed (case C): the report has the error with the missing files, the file errors and what succeeded',
  setup: () => ({
    sandbox: scriptedSandbox({
      sums: async ({ write }) => {
        await write('files/sums.csv', 'city,sum\nRome,3\n')
        throw new TypeError('there is no module for charts')
      },
    }),
    replies: [
      reply.call(python, { contract: [file('files/sums.csv', 'The sums.'), file('files/chart.png', 'A chart.')] }, { code: 'sums' }),
      reply.answer('There is no chart.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
