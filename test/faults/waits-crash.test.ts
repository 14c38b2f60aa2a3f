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
import { replay } from '../../src/agent/replay/replay.ts'
import { childPrefix } from '../../src/core/scope.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { linesOf, openCrashFolder, recordOf } from '../support/crash/crash-folder.ts'
import { answerAllWaits, recordedTools, waitingTurnAgent } from '../support/crash/waiting-turn.ts'

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
  const agent = waitingTurnAgent(silent, { store, clock })
  await agent.run('c1', 'Go shopping.').result
  await answerAllWaits(agent, store, 'c1')
  await agent.close()
  return commits
}

/** The journals of a conversation and of its sub-agents. */
async function journalsOf(store: ConversationStore, name: string): Promise<ReadonlyMap<string, readonly Change[]>> {
  const { conversations } = await store.list({ prefix: childPrefix(name), limit: 10 })
  const ids = [name, ...conversations.map(({ conversationId }) => conversationId)]
  return new Map(await Promise.all(ids.map(async (id) => [id, (await recordOf(store, id)).journal] as const)))
}

const isDecision = (change: Change) => change.type === 'response.received' && change.role === undefined

/** How many model calls of sub-agents the results of the turn bill. */
const billedCalls = (journal: readonly Change[]): number =>
  journal
    .flatMap((change) => (change.type === 'blocks.appended' ? change.blocks : []))
    .flatMap(({ meta }) => (meta?.child as { calls: readonly unknown[] } | undefined)?.calls ?? []).length

interface Row {
  readonly killed: string
  readonly lost: number
  readonly repeatedEffects: number
  readonly missingEffects: number
  readonly repeatedDecisions: number
  /** Model calls of the sub-agent that are billed too often or not at all. */
  readonly wronglyBilled: number
  readonly open: readonly string[]
  readonly diverged: readonly string[]
}

it('a turn that waits, with a sub-agent that waits, killed right before or after any commit, loses nothing, repeats nothing, and is answered by another process', async (context) => {
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
  const before = new Map(await Promise.all(names.map(async (name) => [name, await journalsOf(crashed.store, name)] as const)))
  await crashed.store.close()
  const earlier = linesOf(folder, 'asked').length
  const open = names.filter(
    (name) =>
      !before
        .get(name)
        ?.get(name)
        ?.some(({ type }) => type === 'turn.closed'),
  )
  expect(open.length).toBeGreaterThan(names.length * 0.9) // the others had made their last commit

  expect(await start(folder, 'recover').exited).toEqual([0, null])
  const { store } = await openCrashFolder(folder)
  const effects = linesOf(folder, 'effects')
  const asked = linesOf(folder, 'asked').slice(earlier)
  const rows = await Promise.all(
    names.map(async (name): Promise<Row> => {
      const journals = await journalsOf(store, name)
      const all = [...journals.values()].flat()
      const own = effects.filter((line) => line.includes(` ${name}/`) || line.includes(` ${childPrefix(name)}`))
      const unknown = JSON.stringify(all).includes('outcome_unknown')
      const [turn = [], ...children] = [...journals.values()]
      const diverged: string[] = []
      for (const id of journals.keys()) {
        const replayed = turn.length === 0 ? [] : await replay(store, id, { tools: recordedTools(id) })
        if (replayed.some(({ divergence }) => divergence !== undefined)) diverged.push(`${id} ${JSON.stringify(replayed)}`)
      }
      let lost = 0
      let repeatedDecisions = 0
      for (const [id, old] of before.get(name) ?? []) {
        const journal = journals.get(id) ?? []
        lost += old.filter((change, index) => JSON.stringify(change) !== JSON.stringify(journal[index])).length
        const responded = new Set(old.flatMap((change) => (isDecision(change) && 'iteration' in change ? [change.iteration] : [])))
        repeatedDecisions += asked.filter((line) => line.startsWith(`${id} `) && responded.has(Number(line.slice(id.length + 1)))).length
      }
      return {
        killed: name,
        lost,
        repeatedEffects: own.length - new Set(own).size,
        missingEffects: turn.length === 0 || unknown ? 0 : 4 - own.length,
        repeatedDecisions,
        wronglyBilled: billedCalls(turn) - children.flat().filter(({ type }) => type === 'response.received').length,
        open: [...journals].flatMap(([id, journal]) =>
          turn.length > 0 && !journal.some(({ type }) => type === 'turn.closed') ? [id] : [],
        ),
        diverged,
      }
    }),
  )
  await store.close()
  console.log(`one turn of ${commits} commits, killed before and after each: ${rows.length} kills`)
  const good = { lost: 0, repeatedEffects: 0, missingEffects: 0, repeatedDecisions: 0, wronglyBilled: 0, open: [], diverged: [] }
  expect(rows.filter(({ killed: _killed, ...row }) => JSON.stringify(row) !== JSON.stringify(good))).toEqual([])
}, 120_000)

it('four processes that answer the same waits at once cause each effect once', async () => {
  const folder = newFolder()
  const { store, clock } = await openCrashFolder(folder)
  const agent = waitingTurnAgent(silent, { store, clock })
  expect((await agent.run('c1', 'Go shopping.').result).exitReason).toBe('waiting')
  await agent.close()
  const racers = Array.from({ length: 4 }, () => start(folder, 'answer', 'c1'))
  for (const { exited } of racers) expect(await exited).toEqual([0, null])
  const effects = linesOf(folder, 'effects')
  expect(effects).toHaveLength(3) // both payments, and that of the sub-agent; the order was made before
  expect(new Set(effects).size).toBe(3)
  expect((await store.head('c1'))?.openTurn).toBe(null)
  for (const id of (await journalsOf(store, 'c1')).keys()) {
    const [replayed] = await replay(store, id, { tools: recordedTools(id) })
    expect([id, replayed?.divergence]).toEqual([id, undefined])
  }
  await store.close()
}, 60_000)
