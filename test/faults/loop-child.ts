/**
 * A process that is killed while it works on long turns. Started by loop-crash.test.ts:
 *
 *   hang <name> …    works on these conversations; `before-7` stops for ever right before its seventh entry, `behind-7` right behind it
 *   work <name>      works on one conversation, and says all the while where it is
 *   recover          takes up whatever it finds
 */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { fileObserver, openCrashFolder } from '../support/crash/crash-folder.ts'
import { longTurnModel, longTurnTools, settings, type TurnObserver } from '../support/crash/long-turn.ts'

const [folder = '', mode = '', ...names] = process.argv.slice(2)
const { store, clock } = await openCrashFolder(folder)
const say = (line: string) => writeSync(1, `${line}\n`)

const moment: TurnObserver['onStep'] = async (where) => {
  if (mode !== 'work') return
  say(where)
  await sleep(2)
}
const outside: TurnObserver = { ...fileObserver(folder), onStep: moment }
const agent = createAgentFrom({
  model: longTurnModel(outside),
  tools: longTurnTools(outside),
  store: mode === 'hang' ? hanging(store) : store,
  clock,
  settings,
})

if (mode === 'recover') {
  for (const { exitReason } of await agent.recover()) say(exitReason)
  await agent.close()
  await store.close()
} else {
  setInterval(() => {}, 60_000) // what hangs does not keep a process alive
  await Promise.all(names.map((conversation) => agent.run({ conversation, input: 'Go shopping.' }).result))
}

function hanging(inner: ConversationStore): ConversationStore {
  const appends = new Map<string, number>()
  let hung = 0
  const forEver = () => {
    if (++hung === names.length) say('all hang')
    return new Promise<never>(() => {})
  }
  return {
    ...inner,
    async append(claim, changes) {
      const count = (appends.get(claim.conversationId) ?? 0) + 1
      appends.set(claim.conversationId, count)
      if (claim.conversationId === `before-${count}`) return forEver()
      const entries = await inner.append(claim, changes)
      return claim.conversationId === `behind-${count}` ? forEver() : entries
    },
  }
}
