import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title:
    'tools 18.74: the program ended normally and one file is missing (case B): the report lists it, and has no line about a runtime error',
  setup: () => ({
    sandbox: scriptedSandbox({ sums: async ({ write }) => write('files/sums.csv', 'city,sum\nRome,3\n') }),
    replies: [
      reply.call(python, { contract: [file('files/sums.csv', 'The sums.'), file('files/chart.png', 'A chart.')] }, { code: 'sums' }),
      reply.answer('There is no chart.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
