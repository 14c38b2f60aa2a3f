import { reply } from '../../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../../src/testing/scripted-sandbox.ts'
import type { Scenario } from '../../support/scenario.ts'

const python = 'exec_tools.execute_code_python'
const file = (filename: string, description: string) => ({ filename, description })

let running = Promise.withResolvers<void>()

export default {
  title: 'a steer stops a running program: the report names what it had written, and the turn goes on',
  setup: () => {
    running = Promise.withResolvers<void>()
    return {
      sandbox: scriptedSandbox({
        slow: async ({ write, untilCancelled }) => {
          await write('files/half.csv', 'a,b\n')
          running.resolve()
          await untilCancelled()
        },
      }),
      replies: [
        reply.call(python, { contract: [file('files/half.csv', 'A half.'), file('files/rest.csv', 'The rest.')] }, { code: 'slow' }),
        reply.answer('A half is there.'),
      ],
    }
  },
  async run({ agent, conversationId }) {
    const turn = agent.run(conversationId, 'Please do it.')
    await running.promise
    await agent.steer(conversationId, 'A half is enough.')
    await turn.result
  },
  prompt: true,
} satisfies Scenario
