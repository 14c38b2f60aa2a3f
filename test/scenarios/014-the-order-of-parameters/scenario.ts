import { z } from 'zod'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Scenario } from '../../support/scenario.ts'

const valid = { path: 'files/a.md', channel: 'canvas', content: '# A', kind: 'file' }
const write = (...names: readonly (keyof typeof valid)[]) =>
  reply.call('react.write', Object.fromEntries(names.map((name) => [name, valid[name]])))

/** A tool with five ordered parameters, so that a call can be wrong from the fourth parameter on. `react.write` has only four. */
const publish = defineTool({
  id: 'sample.publish',
  description: 'Writes, and tells somebody.',
  params: z.object({ path: z.string(), channel: z.string(), content: z.string(), kind: z.string(), tell: z.string() }),
  order: 'hard',
  run: () => ({ ok: true, ret: 'published' }),
})

export default {
  title: 'a tool that streams content to the user requires its parameter order: nothing is written until the order is correct',
  channelsOnly: 'parameters may have any order',
  setup: () => ({
    tools: [publish],
    replies: [
      write('channel', 'path', 'content', 'kind'),
      write('path', 'content', 'channel', 'kind'),
      write('path', 'channel', 'content', 'kind'),
      write('path', 'channel', 'kind', 'content'),
      reply.call('sample.publish', { path: 'files/a.md', channel: 'canvas', content: '# A', tell: 'Ann', kind: 'file' }),
      reply.answer('Written.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
