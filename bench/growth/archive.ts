import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Change } from '../../src/core/timeline/change.ts'
import { createAgent } from '../../src/wiring/agent.ts'
import { openStore } from '../../src/wiring/store.ts'
import { answerOf, steadyModel } from '../watched/programs/steady-model.ts'
import type { Growth } from './measure.ts'

/** The operations of `archive-call.ts`. */
export const archiveCalls = ['timeline', 'exportBundle', 'usage', 'fork', 'follow', 'entries'] as const

const settings = { maxRounds: 1e6, contextTokens: 1e9 }
const ENTRIES_PER_APPEND = 1_000
const folders = new Map<number, Promise<string>>()
const root = join(tmpdir(), `daybook-growth-${process.pid}`)
process.once('exit', () => rmSync(root, { recursive: true, force: true }))
const folderOf = (messages: number) => join(root, String(messages))

/**
 * A store on disk with a conversation whose turns were run by an agent. The store is made only once for each number of messages, and is
 * used by all measurements with this number.
 */
function storeWith(messages: number): Promise<string> {
  const made = folders.get(messages) ?? make(messages)
  folders.set(messages, made)
  return made
}

async function make(messages: number): Promise<string> {
  const memory = await openStore({ data: 'not used', store: 'memory' })
  const agent = createAgent({
    model: steadyModel({ rounds: 1, answer: answerOf('An answer of some words. '.repeat(12)) }),
    settings,
    store: memory,
  })
  for (let n = 0; n < messages / 2; n++) await agent.run('c', `Question ${n}. ${'And some more words. '.repeat(12)}`).result
  const store = await openStore({ data: folderOf(messages) })
  const claim = await store.claim('c', { id: 'growth', host: 'bench', pid: process.pid })
  let changes: Change[] = []
  for await (const { seq, change } of memory.readJournal('c', { after: 0 })) {
    changes.push(change)
    if (seq % ENTRIES_PER_APPEND !== 0) continue
    await store.append(claim, changes)
    changes = []
  }
  await store.append(claim, changes)
  await store.release(claim)
  await agent.close()
  await store.close()
  return folderOf(messages)
}

/** How long each operation of the archive takes per message, and the peak memory of the process that runs it. */
export const growthOfArchive: readonly Growth[] = archiveCalls.flatMap((call) =>
  (['micros', 'peakMemory'] as const).map((value): Growth => {
    return {
      what: value === 'micros' ? `archive: ${call}, per message` : `archive: ${call}, peak memory in KB per message`,
      smallest: 100,
      takes: 1,
      async cost(messages) {
        const script = join(import.meta.dirname, 'archive-call.ts')
        const { stdout } = await promisify(execFile)(process.execPath, [script, await storeWith(messages), call])
        return JSON.parse(stdout)[value] / messages
      },
    }
  }),
)
