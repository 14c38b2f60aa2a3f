/**
 * A process that is killed between two turns. followup-crash.test.ts starts it with one of these modes:
 *
 *   hang       runs a turn. A followup is accepted while the close of the turn is written. Prints how it was accepted, and hangs before
 *              the turn of the followup is opened
 *   recover    resumes every unfinished turn and prints the answers
 */
import { writeSync } from 'node:fs'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { openCrashFolder } from '../support/crash/crash-folder.ts'

const [folder = '', mode = ''] = process.argv.slice(2)
const { store, clock } = await openCrashFolder(folder)
const print = (line: string) => writeSync(1, `${line}\n`)

if (mode === 'recover') {
  const agent = createAgentFrom({ model: scriptedModel([reply.answer('The second answer.')]), store, clock })
  for (const { answer } of (await agent.recover()).results) print(answer)
  await agent.close()
  await store.close()
} else {
  setInterval(() => {}, 60_000) // keeps the process alive, which a pending promise does not
  const agent = createAgentFrom({ model: scriptedModel([reply.answer('The first answer.')]), store: hangingStore(store), clock })
  const submitFollowup = () => agent.send('c1', 'The second question.', { eventId: 'second' }).then(({ how }) => print(how))
  await agent.run('c1', 'The first question.').result

  function hangingStore(inner: ConversationStore): ConversationStore {
    let closed = false
    return {
      ...inner,
      async append(claim, changes) {
        if (closed && changes.some(({ type }) => type === 'turn.opened')) return new Promise<never>(() => {})
        const entries = await inner.append(claim, changes)
        if (changes.some(({ type }) => type === 'turn.closed')) {
          closed = true
          void submitFollowup()
          // wait until the followup is in the queue behind the close
          for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve))
        }
        return entries
      },
    }
  }
}
