import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import {
  ENTRIES,
  longTurnModel,
  longTurnTools,
  noObserver,
  normalizedLines,
  settings,
  withoutResultsOf,
} from '../../src/testing/torture/long-turn.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { type ConversationRecord, linesOf, openCrashFolder, recordOf } from '../support/crash/crash-folder.ts'
import { runsOf } from '../support/stores.ts'

// A folder in memory, because it is faster. A killed process loses no data that the kernel has accepted, so a disk is not needed.
const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'daybook-crash-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const boundaries = Array.from({ length: ENTRIES }, (_, index) => [`before-${index + 1}`, `after-${index + 1}`]).flat()
const randomKills = Array.from({ length: runsOf(20) }, (_, index) => `random-${index + 1}`)

interface Row {
  readonly killed: string
  readonly lost: number
  readonly repeatedEffects: number
  readonly repeatedDecisions: number
  readonly unknown: number
  /** The first line of the resumed turn that differs from the turn without a kill. Undefined when all lines are equal. */
  readonly difference: string | undefined
}

let reference: readonly string[]
beforeAll(async () => {
  const clock = createSystemClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const agent = createAgentFrom({ model: longTurnModel(noObserver), tools: longTurnTools(noObserver), store, clock, settings })
  await agent.run('c1', 'Go shopping.').result
  const { timeline } = await recordOf(store, 'c1')
  reference = timeline ? normalizedLines(timeline).lines : []
})

function start(mode: string, ...names: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'loop-child.ts'), folder, mode, ...names], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, lines: createInterface({ input: child.stdout }), exited: once(child, 'exit') as Promise<[number | null, string | null]> }
}

async function kill(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL')
  await exited
}

/** Resumes all conversations in a new process. Compares each with its state before, and with a turn that was not killed. */
async function recoverAndCompare(names: ReadonlyMap<string, string>): Promise<readonly Row[]> {
  const before = await records(names.keys())
  const earlierDecisions = linesOf(folder, 'asked').length
  const { exited } = start('recover')
  expect(await exited).toEqual([0, null])
  const after = await records(names.keys())
  const effects = linesOf(folder, 'effects')
  const decisions = linesOf(folder, 'asked').slice(earlierDecisions)
  return [...names].map(([conversationId, killed]) => {
    const [crashed, recovered] = [before.get(conversationId) as ConversationRecord, after.get(conversationId) as ConversationRecord]
    const { lines, unknown } = recovered.timeline ? normalizedLines(recovered.timeline) : { lines: [], unknown: [] }
    const responded = new Set(
      crashed.journal.flatMap((change) => (change.type === 'response.received' && !change.role ? [change.iteration] : [])),
    )
    const payments = effects.filter((line) => line.startsWith(`shop.pay ${conversationId}/`))
    return {
      killed,
      lost: crashed.journal.filter((change, index) => JSON.stringify(change) !== JSON.stringify(recovered.journal[index])).length,
      repeatedEffects: payments.length - new Set(payments).size,
      repeatedDecisions: decisions.filter(
        (line) => responded.has(Number(line.slice(conversationId.length + 1))) && line.startsWith(`${conversationId} `),
      ).length,
      unknown: unknown.length,
      difference: firstDifference(withoutResultsOf(lines, unknown), withoutResultsOf(reference, unknown)),
    }
  })
}

function firstDifference(lines: readonly string[], expected: readonly string[]): string | undefined {
  if (lines.length === 0) return '—' // nothing was stored, so there is no turn to resume
  if (lines.length < expected.length) return `only ${lines.length} of ${expected.length} lines`
  return lines.find((line, index) => line !== expected[index])
}

async function records(names: Iterable<string>): Promise<ReadonlyMap<string, ConversationRecord>> {
  const { store } = await openCrashFolder(folder)
  const byName = new Map<string, ConversationRecord>()
  for (const name of names) byName.set(name, await recordOf(store, name))
  await store.close()
  return byName
}

/** Prints one line per kind of outcome, with the names of all kills that had this outcome. */
function print(title: string, rows: readonly Row[]): void {
  const head = ['lost blocks', 'repeated effects', 'repeated decisions', 'unknown outcomes', 'equal', 'kills', 'killed']
  const groups = new Map<string, string[]>()
  for (const { killed, lost, repeatedEffects, repeatedDecisions, unknown, difference } of rows) {
    const cells = [lost, repeatedEffects, repeatedDecisions, unknown, difference ?? 'yes']
    const line = cells.map((cell, index) => String(cell).padStart(head[index]?.length ?? 0)).join('  ')
    groups.set(line, [...(groups.get(line) ?? []), killed])
  }
  const table = [...groups].map(([line, kills]) => `${line}  ${String(kills.length).padStart(5)}  ${kills.join(', ')}`)
  console.log([title, head.join('  '), ...table].join('\n'))
}

const expectNothingLostOrRepeated = (rows: readonly Row[]) =>
  expect(
    rows.filter(
      (row) => row.lost > 0 || row.repeatedEffects > 0 || row.repeatedDecisions > 0 || row.unknown > 1 || row.difference !== undefined,
    ),
  ).toEqual([])

it('a turn killed right before or right after any of its entries loses no entry and repeats no effect and no model call', async (context) => {
  countAttempts(context, boundaries.length)
  const { child, lines, exited } = start('hang', ...boundaries)
  for await (const line of lines) if (line === 'all hang') await kill(child, exited)
  const rows = await recoverAndCompare(new Map(boundaries.map((name) => [name, name.replace('-', ' ')])))
  print(`one turn of ${ENTRIES} entries, killed at each of them`, rows)
  const [first, ...others] = rows
  expect(first).toEqual({ killed: 'before 1', lost: 0, repeatedEffects: 0, repeatedDecisions: 0, unknown: 0, difference: '—' })
  expectNothingLostOrRepeated(others)
}, 120_000)

it('a turn killed at a random point of a model response or a tool loses no entry and repeats no effect and no model call', async (context) => {
  countAttempts(context, randomKills.length)
  const killed = new Map<string, string>()
  const queue = [...randomKills]
  const killNext = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const { child, lines, exited } = start('work', name)
      const inTool = queue.length % 2 === 0
      let remaining = 2 + Math.floor(Math.random() * (inTool ? 30 : 180))
      let last = ''
      for await (const line of lines) {
        last = line
        if (line.startsWith(inTool ? 'tool' : '') && --remaining === 0) child.kill('SIGKILL')
      }
      await exited
      killed.set(name, last)
    }
  }
  await Promise.all([killNext(), killNext(), killNext()])
  const rows = await recoverAndCompare(killed)
  print('killed at random points', rows)
  expectNothingLostOrRepeated(rows)
}, 120_000)
