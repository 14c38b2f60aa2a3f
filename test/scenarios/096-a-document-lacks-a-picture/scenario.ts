import { z } from 'zod'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import { succeeded } from '../../../src/tools/outcome.ts'
import type { Scenario } from '../../support/scenario.ts'

const rendering = () =>
  defineTool({
    id: 'sample.render',
    description: 'Makes a page of a text.',
    params: z.object({ content: z.string() }),
    run({ content }) {
      const missing = [...content.matchAll(/\]\((turn_[^)]+)\)/g)].map(([, path]) => path as string)
      const message = `The page was made without ${missing.join(', ')}: there is no such file. Pull it with react.pull, then call again.`
      return succeeded({ output: { pages: 1 }, notices: [{ code: 'tool_call_error.missing_assets', message, missing }] })
    },
  })

export default {
  title: 'a document is rendered without a missing image, and a notice names the image',
  setup: () => ({
    tools: [rendering()],
    replies: [reply.call('sample.render', { content: '# Rome\n![map](turn_0/files/map.png)' }), reply.answer('The map is missing.')],
  }),
  prompt: true,
} satisfies Scenario
