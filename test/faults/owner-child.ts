/**
 * A process with one agent on the data in a folder. dead-owners.test.ts starts it with one of these modes:
 *
 *   hold           runs a turn in `c1` whose model does not answer, and prints `holding`. On SIGUSR1 the model answers
 *   recover        calls `recover` and prints its report. If `c1` was skipped, also prints the error of `rename`
 *   wait           does the same as `recover`. Then sets its clock to a millisecond before the end of the lease, and to the end, and prints
 *                  the report for each of these times
 */
import { writeSync } from 'node:fs'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { errorMessage, Failure } from '../../src/core/failure.ts'
import type { Clock } from '../../src/ports/clock.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { openFolderStore } from '../support/stores.ts'

const [folder = '', mode = ''] = process.argv.slice(2)
const print = (value: unknown) => writeSync(1, `${JSON.stringify(value)}\n`)

let time: string | undefined // while it is undefined, the clock has the time of the system
const system = createSystemClock()
const clock: Clock = { ...system, now: () => time ?? system.now() }
const store = await openFolderStore(folder, { clock })

if (mode === 'hold') {
  const answer = Promise.withResolvers<void>()
  process.once('SIGUSR1', () => answer.resolve())
  const silent: Reply = {
    text: reply.answer('At last.'),
    async onChunk() {
      print('holding')
      await answer.promise
    },
  }
  setInterval(() => {}, 60_000) // keeps the process alive, which a pending promise does not
  const { exitReason } = await createAgentFrom({ model: scriptedModel([silent]), store, clock }).run('c1', 'Anybody there?').result
  print(exitReason)
  process.exit(0)
}

const agent = createAgentFrom({ model: scriptedModel([reply.answer('Here I am.')]), store, clock })
const recover = async () => {
  const { results, skipped } = await agent.recover()
  print({ answers: results.map(({ answer }) => answer), skipped })
  return skipped
}
const [skipped] = await recover()
if (skipped) {
  await agent.archive.rename('c1', 'Mine').catch((error: unknown) => {
    print({ code: error instanceof Failure ? error.code : 'none', message: errorMessage(error) })
  })
  if (mode === 'wait') {
    const end = Date.parse(skipped.until)
    for (const moment of [end - 1, end]) {
      time = new Date(moment).toISOString()
      await recover()
    }
  }
}
await agent.close()
await store.close()
