import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { fileWritingTool } from '../../support/scenario-tools.ts'

const contract = [{ filename: 'cities.txt', description: 'The cities.' }]
const corrected = { contract: [{ filename: 'files/cities.txt', description: 'The cities.', visibility: 'internal' }], prog_name: 'cities' }

export default {
  title:
    'a bare file name in a contract, a program of another turn and paths in the code do not prevent the run; notices report how they were rewritten',
  setup: () => ({
    tools: [fileWritingTool()],
    replies: [
      reply.call(
        'sample.press',
        { contract, prog_name: 'turn_0/files/cities.py' },
        { code: 'copy("attachments/world.csv", "files/cities.txt")' },
      ),
      reply.call('sample.press', corrected, { code: 'save("files/cities.txt")' }),
      reply.answer('Rome and Paris.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
