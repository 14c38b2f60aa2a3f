import { reply } from '../../../src/testing/scripted-model.ts'
import { action } from '../../support/decisions/replies.ts'
import type { Scenario } from '../../support/scenario.ts'

const write = (params: string) => action(`{"action":"call_tool","tool_call":{"tool_id":"react.write","params":{${params}}}}`)

export default {
  title: 'a key that decides what is called and who sees it has two values, so the action is refused',
  channelsOnly: 'the replies break rules of channels',
  setup: () => ({
    replies: [
      write('"path":"files/a.md","channel":"canvas","content":"For me alone.","kind":"file","channel":"internal"'),
      write('"path":"files/a.md","channel":"internal","content":"For me alone.","kind":"file"'),
      action('{"action":"complete","action":"exit","final_answer":"Written."}'),
      reply.answer('Written.'),
    ],
  }),
  prompt: true,
} satisfies Scenario
