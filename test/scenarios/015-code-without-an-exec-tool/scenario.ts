import { reply } from '../../../src/testing/scripted-model.ts'
import { action } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'
import { program, weather } from '../../support/scenario-tools.ts'

const code = '\n<channel:code>print(1)</channel:code>'
const contract = [{ filename: 'files/out.txt', description: 'the output' }]

export default {
  title: 'code runs only after a call of one exec tool whose contract names the files',
  channelsOnly: 'there is no channel for code',
  setup: () => ({
    tools: [weather(), program()],
    replies: [
      `${reply.call('weather.today', { city: 'Rome' })}${code}`,
      `${action({ action: 'complete' })}${code}`,
      reply.call('sample.run', { contract }, { code: 'print(1)' }),
      reply.call('sample.run', {}, { code: 'print(1)' }),
      reply.call('sample.run', { contract: 'out.txt' }, { code: 'print(1)' }),
      reply.answer('Done.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
