import { z } from 'zod'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Scenario } from '../../support/scenario.ts'

const mail = defineTool({
  id: 'mail.send',
  description: 'Sends a letter.',
  params: z.object({ to: z.string().describe('whom'), body: z.string().describe('what') }),
  run: ({ to, body }) => `sent ${body.length} characters to ${to}`,
})

export default {
  title:
    'a parameter may refer to visible content: the tool gets the content; a reference to invisible content is rejected before the tool runs',
  setup: () => ({
    tools: [mail],
    replies: [
      reply.call('react.write', { path: 'files/letter.md', channel: 'canvas', content: 'Dear Ada, the doors are red.', kind: 'display' }),
      reply.call('mail.send', { to: 'Ada', body: 'ref:fi:turn_0.files/letter.md' }),
      reply.call('mail.send', { to: 'Ada', body: 'ref:files/letter.md' }),
      reply.answer('Sent.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
