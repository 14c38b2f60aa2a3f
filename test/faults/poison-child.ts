/** Runs or resumes a turn whose tool kills the process. Prints the answer when the turn ends. */
import { z } from 'zod'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { openStoreIn } from './children.ts'

const [folder = '', file = '', blobs = ''] = process.argv.slice(2)
const store = await openStoreIn({ folder, file, blobs })
const isFirst = !(await store.head('c1'))
const poison = defineTool({
  id: 'poison.run',
  description: 'Kills the process.',
  params: z.object({}),
  repeatable: true,
  run: () => process.kill(process.pid, 'SIGKILL'),
})
const model = scriptedModel(isFirst ? [reply.call('poison.run', {})] : [reply.answer('I gave up.')])
const agent = createAgentFrom({ model, store, clock: createSystemClock(), tools: [poison], settings: { maxCallAttempts: 3 } })
if (isFirst) await agent.run('c1', 'go').result
else console.log((await agent.recover()).results.map(({ answer }) => answer).join())
await agent.close()
await store.close()
