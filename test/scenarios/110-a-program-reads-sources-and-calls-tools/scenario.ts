import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'
import { codeSearch, weather } from '../../support/scenario-tools.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

export default {
  title:
    'tools 18.86: a program reads sources of the pool and calls a search tool, whose sources are merged; a tool that is not on the list is an exception',
  setup: () => ({
    tools: [codeSearch(), weather()],
    sandbox: scriptedSandbox({
      research: async ({ fetchCtx, toolCall, write, print }) => {
        const found = await toolCall('web_tools.web_search', { query: 'rivers' })
        await write('outputs/found.json', JSON.stringify(found))
        await write('outputs/rows.json', JSON.stringify(await fetchCtx('so:sources_pool[1,3]')))
        print(JSON.stringify(await fetchCtx('so:sources_pool[99]')))
        await toolCall('weather.today', { city: 'Rome' }).catch((error: Error) => print(error.message))
      },
    }),
    replies: [
      reply.call('web_tools.web_search', { query: 'hills' }),
      reply.call(
        python,
        { contract: [file('outputs/found.json', 'What was found.'), file('outputs/rows.json', 'Rows of the pool.')] },
        { code: 'research' },
      ),
      reply.answer('Rivers [[S:4]] and hills [[S:1]].'),
    ],
  }),
  prompt: true,
} satisfies Scenario
