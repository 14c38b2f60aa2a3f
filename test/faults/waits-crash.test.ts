import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { linesOf, openCrashFolder, recordOf } from '../support/crash/crash-folder.ts'
import { answerAllWaits, waitingTurnModel, waitingTurnTools } from '../support/crash/waiting-turn.ts'

const folders: string[] = []
const newFolder = () => {
  // A folder in memory, because it is faster. A killed process loses no data that the kernel has accepted, so a disk is not needed.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'daybook-waits-'))
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const silent = { onDecision: () => {}, onEffect: () => {} }

function start(folder: string, mode: string, ...names: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'waits-child.ts'), folder, mode, ...names], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, lines: createInterface({ input: child.stdout }), exited: once(child, 'exit') as Promise<[number | null, string | null]> }
}

/** How many commits the turn has when no process dies: appends, and offers of decisions and late results. */
async function countCommits(): Promise<number> {
  const clock = createSystemClock()
  const inner = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  let commits = 0
  const store: ConversationStore = {
    ...inner,
    append: (claim, changes, options) => inner.append(claim, changes, options).finally(() => commits++),
    offer: (id, event) => inner.offer(id, event).finally(() => commits++),
  }
  const agent = createAgentFrom({ model: waitingTurnModel(silent), tools: waitingTurnTools(silent), store, clock })
  await agent.run('c1', 'Go shopping.').result
  await answerAllWaits(agent, store, 'c1')
  await agent.close()
  return commits
}

interface Row {
  readonly killed: string
  readonly lost: number
  readonly repeatedEffects: number
  readonly missingEffects: number
  readonly repeatedDecisions: number
  readonly open: boolean
  readonly diverged: boolean
}

it('a turn that waits, killed right before or after any commit, loses nothing, repeats nothing, and is answered by another process', async (context) => {
  const folder = newFolder()
  const commits = await countCommits()
  const names = Array.from({ length: commits }, (_, index) => [`before-${index + 1}`, `after-${index + 1}`]).flat()
  countAttempts(context, names.length)
  const { child, lines, exited } = start(folder, 'hang', ...names)
  for await (const line of lines) {
    if (line === 'all hang') child.kill('SIGKILL')
  }
  await exited
  const crashed = await openCrashFolder(folder)
  const before = new Map(await Promise.all(names.map(async (name) => [name, await recordOf(crashed.store, name)] as const)))
  await crashed.store.close()
  const earlier = linesOf(folder, 'asked').length

  expect(await start(folder, 'recover').exited).toEqual([0, null])
  const { store } = await openCrashFolder(folder)
  const effects = linesOf(folder, 'effects')
  const asked = linesOf(folder, 'asked').slice(earlier)
  const rows = await Promise.all(
    names.map(async (name): Promise<Row> => {
      const { journal: old = [] } = before.get(name) ?? {}
      const { journal } = await recordOf(store, name)
      const own = effects.filter((line) => line.includes(` ${name}/`))
      const responded = new Set(old.flatMap((change) => (change.type === 'response.received' && !change.role ? [change.iteration] : [])))
      const unknown = JSON.stringify(journal).includes('outcome_unknown')
      const replayed = await replay(store, name, { tools: waitingTurnTools(silent) })
      return {
        killed: name,
        lost: old.filter((change, index) => JSON.stringify(change) !== JSON.stringify(journal[index])).length,
        repeatedEffects: own.length - new Set(own).size,
        missingEffects: journal.length === 0 || unknown ? 0 : 3 - own.length,
        repeatedDecisions: asked.filter((line) => line.startsWith(`${name} `) && responded.has(Number(line.slice(name.length + 1)))).length,
        open: journal.length > 0 && journal.at(-1)?.type !== 'turn.closed' && !journal.some(({ type }) => type === 'turn.closed'),
        diverged: replayed.some(({ divergence }) => divergence !== undefined),
      }
    }),
  )
  await store.close()
  console.log(`one turn of ${commits} commits, killed before and after each: ${rows.length} kills`)
  const good = { lost: 0, repeatedEffects: 0, missingEffects: 0, repeatedDecisions: 0, open: false, diverged: false }
  expect(rows.filter(({ killed: _killed, ...row }) => JSON.stringify(row) !== JSON.stringify(good))).toEqual([])
}, 120_000)

it('four processes that answer the same waits at once cause each effect once', async () => {
  const folder = newFolder()
  const { store, clock } = await openCrashFolder(folder)
  const agent = createAgentFrom({ model: waitingTurnModel(silent), tools: waitingTurnTools(silent), store, clock })
  expect((await agent.run('c1', 'Go shopping.').result).exitReason).toBe('waiting')
  await agent.close()
  const racers = Array.from({ length: 4 }, () => start(folder, 'answer', 'c1'))
  for (const { exited } of racers) expect(await exited).toEqual([0, null])
  const effects = linesOf(folder, 'effects')
  expect(effects).toHaveLength(2) // both payments; the order was made before
  expect(new Set(effects).size).toBe(2)
  expect((await store.head('c1'))?.openTurn).toBe(null)
  const [replayed] = await replay(store, 'c1', { tools: waitingTurnTools(silent) })
  expect(replayed?.divergence).toBeUndefined()
  await store.close()
}, 60_000)
