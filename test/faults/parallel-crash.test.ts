import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { replay } from '../../src/agent/replay/replay.ts'
import { type Block, isResultMetadata } from '../../src/core/block/index.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { callIdAt } from '../../src/tools/call-id.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { type ConversationRecord, linesOf, openCrashFolder, recordOf } from '../support/crash/crash-folder.ts'
import { parallelCalls, parallelTools } from '../support/crash/parallel-round.ts'

const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'daybook-parallel-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The commits of the turn: its start, its title, the calls, four outcomes that wait, five results, and the answer. */
const COMMITS = 2 + 1 + 4 + 5 + 1
const names = Array.from({ length: COMMITS }, (_, index) => [`before-${index + 1}`, `after-${index + 1}`]).flat()

function start(mode: string, ...conversations: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'parallel-child.ts'), folder, mode, ...conversations], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, lines: createInterface({ input: child.stdout }), exited: once(child, 'exit') as Promise<[number | null, string | null]> }
}

async function withStore<T>(read: (store: Awaited<ReturnType<typeof openCrashFolder>>['store']) => Promise<T>): Promise<T> {
  const { store } = await openCrashFolder(folder)
  try {
    return await read(store)
  } finally {
    await store.close()
  }
}
const records = () =>
  withStore(async (store) => {
    const byName = new Map<string, ConversationRecord>()
    for (const name of names) byName.set(name, await recordOf(store, name))
    return byName
  })

const isResult = (block: Block) => block.type === 'react.tool.result' && !isResultMetadata(block)
const resultOf = ({ text = '' }: Block) => (text.startsWith('{') ? String(JSON.parse(text).error?.code) : text)
const isDecision = (change: Change) => change.type === 'response.received' && change.role === undefined

it('a response with five parallel calls, killed at each commit: no outcome is lost, no effect and no model call is repeated', async (context) => {
  countAttempts(context, names.length)
  const { child, lines, exited } = start('hang', ...names)
  for await (const line of lines) if (line === 'all hang') child.kill('SIGKILL')
  await exited
  const before = await records()
  const asked = linesOf(folder, 'asked').length
  expect(await start('recover').exited).toEqual([0, null])
  const after = await records()
  const effects = linesOf(folder, 'effects')
  const askedAgain = linesOf(folder, 'asked').slice(asked)

  const problems: string[] = []
  let unknown = 0
  for (const name of names) {
    const [crashed, recovered] = [before.get(name) as ConversationRecord, after.get(name) as ConversationRecord]
    const problem = (text: string) => problems.push(`${name}: ${text}`)
    if (crashed.journal.length === 0) continue // the message was not accepted
    crashed.journal.forEach((change, index) => {
      if (JSON.stringify(change) !== JSON.stringify(recovered.journal[index])) problem(`entry ${index + 1} is lost`)
    })
    for (const toolId of parallelCalls) {
      const lines = effects.filter((line) => line.startsWith(`${toolId} ${name}/`))
      if (lines.length > 1) problem(`${toolId} ran ${lines.length} times`)
    }
    const decisions = recovered.journal.filter(isDecision)
    if (decisions.length !== 2) problem(`${decisions.length} decisions are billed`)
    for (const change of crashed.journal.filter(isDecision))
      if (change.type === 'response.received' && askedAgain.includes(`${name} ${change.iteration}`)) problem('the model was asked again')
    if (recovered.journal.filter(({ type }) => type === 'turn.closed').length !== 1) problem('the turn is not closed once')

    const blocks = recovered.timeline ? blocksOf(recovered.timeline) : []
    const first = blocks.find(({ type }) => type === 'react.tool.call')?.call_id ?? ''
    const results = blocks.filter(isResult)
    const ids = results.map(({ call_id }) => call_id)
    if (ids.join() !== parallelCalls.map((_, index) => callIdAt(first, index)).join()) problem(`results of ${ids.join()}`)
    const expected = ['slow', 'no_money', 'paid', 'seen', 'ordered']
    const stored = new Set(crashed.journal.flatMap((change) => (change.type === 'call.finished' ? [change.call_id] : [])))
    results.forEach((block, index) => {
      const result = resultOf(block)
      if (result === expected[index]) return
      unknown++
      const mayBeUnknown = index < 3 && !stored.has(block.call_id ?? '')
      if (result !== 'outcome_unknown' || !mayBeUnknown) problem(`the result of ${parallelCalls[index]} is ${result}`)
    })
  }
  expect(problems).toEqual([])
  expect(unknown).toBeGreaterThan(0) // otherwise no process died while a tool ran
  const tools = parallelTools({ onDecision() {}, onEffect() {}, hadEffect: () => false, othersFinished: async () => {} })
  await withStore(async (store) => {
    for (const [name, { journal }] of after) {
      if (journal.length === 0) continue
      expect([name, (await replay(store, name, { tools })).map(({ divergence }) => divergence)]).toEqual([name, [undefined]])
    }
  })
}, 120_000)
