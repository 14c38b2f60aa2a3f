/**
 * A process that is killed while turns wait. waits-crash.test.ts starts it with one of these modes:
 *
 *   hang <name> …   runs a turn in each of these conversations, and answers what it waits for. `before-7` hangs before its seventh commit,
 *                   `after-7` directly after it. The commits of its sub-agent count, too
 *   recover         resumes every unfinished turn, and answers what it waits for
 *   answer <id>     answers what the turn of this conversation waits for
 */
import { writeSync } from 'node:fs'
import { childMark } from '../../src/core/scope.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { fileObserver, openCrashFolder } from '../support/crash/crash-folder.ts'
import { answerAllWaits, waitingTurnAgent } from '../support/crash/waiting-turn.ts'

const [folder = '', mode = '', ...names] = process.argv.slice(2)
const { store, clock } = await openCrashFolder(folder)
const observer = fileObserver(folder)
const stopped = { hung: 0, finished: 0 }
const noteStopped = () => {
  if (stopped.hung + stopped.finished === names.length) writeSync(1, 'all hang\n')
}
const agent = waitingTurnAgent(observer, { store: mode === 'hang' ? hangingStore(store) : store, clock })
setInterval(() => {}, 60_000) // keeps the process alive, which a pending promise does not

if (mode === 'hang') {
  await Promise.all(
    names.map(async (name) => {
      await agent.run(name, 'Go shopping.').result
      await answerAllWaits(agent, store, name)
      stopped.finished++ // the sub-agent and the turn share their work, so a turn may have a commit less
      noteStopped()
    }),
  )
} else {
  if (mode === 'recover') await agent.recover()
  const { conversations } = await store.list({ waits: true, top: true, limit: 500 })
  const waiting = mode === 'recover' ? conversations.map(({ conversationId }) => conversationId) : names
  writeSync(1, 'ready\n')
  await Promise.all(waiting.map((id) => answerAllWaits(agent, store, id)))
  await agent.drain(30_000)
  await agent.close()
  await store.close()
  process.exit(0)
}

function hangingStore(inner: ConversationStore): ConversationStore {
  const commits = new Map<string, number>()
  const hang = () => {
    stopped.hung++
    noteStopped()
    return new Promise<never>(() => {})
  }
  async function counted<T>(key: string, commit: () => Promise<T>): Promise<T> {
    const [conversationId = ''] = key.split(childMark)
    const count = (commits.get(conversationId) ?? 0) + 1
    commits.set(conversationId, count)
    if (conversationId === `before-${count}`) return hang()
    const result = await commit()
    return conversationId === `after-${count}` ? hang() : result
  }
  return {
    ...inner,
    append: (claim, changes, options) => counted(claim.conversationId, () => inner.append(claim, changes, options)),
    offer: (conversationId, event) => counted(conversationId, () => inner.offer(conversationId, event)),
  }
}
