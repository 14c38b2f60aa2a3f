/**
 * A process that is killed between two turns. Started by followup-crash.test.ts:
 *
 *   hang       takes a turn; a followup comes in while its close is written, and is accepted. Says so, and stops for ever right before
 *              the turn that it would become
 *   recover    takes up whatever it finds, and says what it answered
 */
import { writeSync } from 'node:fs'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { answers, scriptedModel } from '../../src/testing/scripted-model.ts'
import { openCrashFolder } from '../support/crash/crash-folder.ts'

const [folder = '', mode = ''] = process.argv.slice(2)
const { store, clock } = await openCrashFolder(folder)
const say = (line: string) => writeSync(1, `${line}\n`)

if (mode === 'recover') {
  const agent = createAgentFrom({ model: scriptedModel([answers('The second answer.')]), store, clock })
  for (const { answer } of await agent.recover()) say(answer)
  await agent.close()
  await store.close()
} else {
  setInterval(() => {}, 60_000) // what hangs does not keep a process alive
  const agent = createAgentFrom({ model: scriptedModel([answers('The first answer.')]), store: hanging(store), clock })
  const acceptedBehind = () => agent.submit('c1', 'The second question.', { eventId: 'second' }).then(({ how }) => say(how))
  await agent.run({ conversation: 'c1', input: 'The first question.' }).result

  function hanging(inner: ConversationStore): ConversationStore {
    let closed = false
    return {
      ...inner,
      async append(claim, changes) {
        if (closed && changes.some(({ type }) => type === 'turn.opened')) return new Promise<never>(() => {})
        const entries = await inner.append(claim, changes)
        if (changes.some(({ type }) => type === 'turn.closed')) {
          closed = true
          void acceptedBehind()
          for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve)) // until it stands in line behind the close
        }
        return entries
      },
    }
  }
}
