import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { fileWritingTool } from '../../support/scenario-tools.ts'

const declares = (...filenames: readonly string[]) =>
  reply.call(
    'sample.press',
    { contract: filenames.map((filename) => ({ filename, description: `What is in ${filename}.` })) },
    { code: 'print("rome")' },
  )

export default {
  title:
    'tools 18.80: a contract can not declare files among the attachments, of another turn, outside the workspace or twice: nothing runs until it is corrected',
  setup: () => ({
    tools: [fileWritingTool()],
    replies: [
      declares('attachments/a.txt', 'turn_0/files/b.txt', '../c.txt'),
      declares('files/cities.txt', 'cities.txt'),
      declares('files/cities.txt', 'outputs/cities.txt'),
      reply.answer('Both are there.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
