import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title: 'the sandbox could not start the program: the report says that this is no defect in the code',
  setup: () => ({
    sandbox: scriptedSandbox(
      { sums: async () => ({ kind: 'not_started', message: 'bwrap: no user namespaces.' }) },
      { sandboxLog: 'bwrap: setting up uid map: Permission denied' },
    ),
    replies: [
      reply.call(python, { contract: [file('files/sums.csv', 'The sums.')] }, { code: 'sums' }),
      reply.answer('Programs do not run here.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
