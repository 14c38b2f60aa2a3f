/** A process that is killed while it runs a turn with options. options-crash.test.ts starts it with the folder of a store. */
import { writeSync } from 'node:fs'
import { z } from 'zod'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { openStoreIn } from './children.ts'
import { optionTools } from './options-work.ts'

const [folder = '', file = '', blobs = ''] = process.argv.slice(2)
const clock = createSystemClock()
const agent = createAgentFrom({
  store: await openStoreIn({ folder, file, blobs }),
  clock,
  model: scriptedModel([]),
  models: {
    strong: scriptedModel([reply.call('notes.take', { text: 'one' }), reply.call('notes.hang')], { name: 'strong-1' }),
    json: scriptedModel([reply.call('notes.hang')]),
  },
  tools: optionTools(() => {
    writeSync(1, 'hangs\n')
    return new Promise(() => {})
  }),
})
setInterval(() => {}, 60_000) // keeps the process alive, which a pending promise does not
const options = { maxRounds: 4, instructions: 'Answer in German.', tools: ['notes.take', 'notes.hang'] }
agent.run('named', 'Take notes.', { ...options, model: 'strong' }).result.catch(() => {})
agent.run('json', 'Take notes.', { model: 'json', output: z.object({ n: z.number() }) }).result.catch(() => {})
agent.run('unnamed', 'Take notes.', { ...options, model: scriptedModel([reply.call('notes.hang')]) }).result.catch(() => {})
