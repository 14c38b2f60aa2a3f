/**
 * A process that is killed while it works on long turns. loop-crash.test.ts starts it with one of these modes:
 *
 *   hang <name> …    runs a turn in each of these conversations. `before-7` hangs before its seventh entry, `after-7` directly after it
 *   work <name>      runs a turn in one conversation and prints each step
 *   recover          resumes every unfinished turn
 */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { longTurnModel, longTurnTools, settings, type TurnObserver } from '../../src/testing/torture/long-turn.ts'
import { fileObserver, openCrashFolder } from '../support/crash/crash-folder.ts'

const [folder = '', mode = '', ...names] = process.argv.slice(2)
const { store, clock } = await openCrashFolder(folder)
const print = (line: string) => writeSync(1, `${line}\n`)

const onStep: TurnObserver['onStep'] = async (where) => {
  if (mode !== 'work') return
  print(where)
  await sleep(2)
}
const observer: TurnObserver = { ...fileObserver(folder), onStep }
const agent = createAgentFrom({
  model: longTurnModel(observer),
  tools: longTurnTools(observer),
  store: mode === 'hang' ? hangingStore(store) : store,
  clock,
  settings,
})

if (mode === 'recover') {
  for (const { exitReason } of (await agent.recover()).results) print(exitReason)
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
    if (++hung === names.length) print('all hang')
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
