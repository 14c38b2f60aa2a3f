import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title: 'no file was written and the program failed: the report has the error and the file errors, and there is no block of a file',
  setup: () => ({
    sandbox: scriptedSandbox({
      broken: async ({ print }) => {
        print('  File "main.py", line 1')
        print('SyntaxError: invalid syntax')
        return { kind: 'exited', exitCode: 1 }
      },
      killed: async () => ({ kind: 'killed', signal: 'SIGSEGV' }),
    }),
    replies: [
      reply.call(python, { contract: [file('files/sums.csv', 'The sums.')] }, { code: 'broken' }),
      reply.call(python, { contract: [file('files/sums.csv', 'The sums.')] }, { code: 'killed' }),
      reply.answer('The program does not work.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
