/**
 * A process that is killed while it runs several calls of one response. parallel-crash.test.ts starts it with one of these modes:
 *
 *   hang <name> …    runs a turn in each of these conversations. `before-4` hangs before its fourth commit, `after-4` directly after it
 *   recover          resumes every unfinished turn
 */
import { writeSync } from 'node:fs'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { fileObserver, linesOf, openCrashFolder } from '../support/crash/crash-folder.ts'
import { parallelCalls, parallelModel, parallelTools, type RoundObserver } from '../support/crash/parallel-round.ts'

const [folder = '', mode = '', ...names] = process.argv.slice(2)
const { store, clock } = await openCrashFolder(folder)
const finished = new Map<string, { left: number; readonly all: PromiseWithResolvers<void> }>()
const finishedIn = (conversationId: string) => {
  const found = finished.get(conversationId) ?? { left: parallelCalls.length - 1, all: Promise.withResolvers<void>() }
  finished.set(conversationId, found)
  return found
}
const observer: RoundObserver = {
  ...fileObserver(folder),
  hadEffect: (key, toolId) => linesOf(folder, 'effects').includes(`${toolId} ${key}`),
  othersFinished: (conversationId) => finishedIn(conversationId).all.promise,
}
const agent = createAgentFrom({
  model: parallelModel(observer),
  tools: parallelTools(observer),
  store: mode === 'hang' ? hangingStore(store) : store,
  clock,
  onEntry(conversationId, { change }) {
    const state = finishedIn(conversationId)
    if (change.type === 'call.finished' && --state.left === 0) state.all.resolve()
  },
})

if (mode === 'recover') {
  await agent.recover()
  await agent.close()
  await store.close()
} else {
  setInterval(() => {}, 60_000) // keeps the process alive, which a pending promise does not
  await Promise.all(names.map((conversationId) => agent.run(conversationId, 'Go shopping.').result))
}

function hangingStore(inner: ConversationStore): ConversationStore {
  const appends = new Map<string, number>()
  let hung = 0
  const hang = () => {
    if (++hung === names.length) writeSync(1, 'all hang\n')
    return new Promise<never>(() => {})
  }
  return {
    ...inner,
    async append(claim, changes) {
      const count = (appends.get(claim.conversationId) ?? 0) + 1
      appends.set(claim.conversationId, count)
      if (claim.conversationId === `before-${count}`) return hang()
      const entries = await inner.append(claim, changes)
      return claim.conversationId === `after-${count}` ? hang() : entries
    },
  }
}
