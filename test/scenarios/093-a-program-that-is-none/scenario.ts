import { z } from 'zod'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Scenario } from '../../support/scenario.ts'

const counting = () =>
  defineTool({
    id: 'sample.count',
    description: 'Counts the characters of a program.',
    params: z.object({ contract: z.array(z.object({ filename: z.string(), description: z.string() })) }),
    exec: true,
    run: (_, { code = '' }) => ({ characters: code.length }),
  })

const params = { contract: [{ filename: 'files/count.txt', description: 'How many characters.' }] }

export default {
  title: 'an exec tool does not run without code, nor with channel tags or a code fence around it',
  channelsOnly: 'the notices name the place of the program, and a fence around a parameter is removed',
  setup: () => ({
    tools: [counting()],
    replies: [
      reply.call('sample.count', params),
      reply.call('sample.count', params, { code: '```python\nprint(1)\n```' }),
      reply.call('sample.count', params, { code: 'print(1)' }),
      reply.answer('Eight characters.'),
    ],
  }),
} satisfies Scenario
