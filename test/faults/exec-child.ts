/** Runs a turn whose program never ends, or resumes it. Prints the answer when the turn ends. */

import { effectiveSettings } from '../../src/config/config.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { openAgent } from '../../src/wiring/open-agent.ts'

const [data = '', mode = ''] = process.argv.slice(2)
const contract = [{ filename: 'files/half.txt', description: 'a half' }]
const code = 'import time\nopen("files/half.txt", "a").write("run ")\ntime.sleep(600)'
const model = scriptedModel(
  mode === 'run' ? [reply.call('exec_tools.execute_code_python', { contract }, { code })] : [reply.answer('I saw it.')],
)
const { agent, close } = await openAgent({ ...effectiveSettings([{ origin: 'test', values: { data } }]).settings, model })
if (mode === 'run') await agent.run('c1', 'go').result
else console.log((await agent.recover()).results.map(({ answer }) => answer).join())
await close()
