import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title: 'a program that reaches a limit is reported with the name of the limit, and what it wrote before is kept and named',
  setup: () => ({
    sandbox: scriptedSandbox({
      large: async ({ write }) => {
        await write('files/part.csv', 'a,b\n')
        return { kind: 'limit', limit: 'file_size_limit', message: 'a file has more than 100 MiB.' }
      },
      slow: async ({ write }) => {
        await write('files/half.csv', 'a,b\n')
        return { kind: 'limit', limit: 'timeout', message: 'the program did not end within 5 s' }
      },
    }),
    replies: [
      reply.call(python, { contract: [file('files/part.csv', 'A part.'), file('files/all.csv', 'All.')] }, { code: 'large' }),
      reply.call(python, { contract: [file('files/half.csv', 'A half.')], timeout_s: 5 }, { code: 'slow' }),
      reply.answer('Two parts.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
