import { expect } from 'vitest'
import { recordsOf } from '../../../src/agent/conversation/history.ts'
import type { Block } from '../../../src/core/block/index.ts'
import { blocksOfChange } from '../../../src/core/timeline/change.ts'
import { LEASE_MS } from '../../../src/ports/store.ts'
import { createHarness, type Harness } from '../../../src/testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../../src/testing/scripted-model.ts'
import { historyOf } from '../../../src/tools/artifacts/history.ts'
import { type FailureSide, failingStore } from '../crash/failing-store.ts'
import { type Action, beginTurnModel, type FinishedTurn, type Outcome, type Tree, treeWithin } from './model.ts'
import { type Machine, openOn, programText, type System } from './world.ts'

/** One tool call of a turn. `turn` is the position of an earlier turn. */
export type PlannedCall =
  | Action
  | { readonly do: 'look' }
  | { readonly do: 'pull' | 'lookAt' | 'read' | 'echo'; readonly turn: number; readonly rel: string }

/** The death of a process at an entry of the journal, and the machine on which the turn is resumed. */
export interface Crash {
  readonly append: number
  readonly side: FailureSide
  readonly machine: number
}

export interface PlannedTurn {
  readonly machine: number
  readonly calls: readonly PlannedCall[]
  readonly crashes: readonly Crash[]
}

/** A conversation, with its finished turns as the model of the files (`model.ts`) expects them. */
export interface Conversation {
  readonly id: string
  readonly turns: readonly FinishedTurn[]
}

/** The expected result of a call. Undefined when it is not known, for example after a crash. */
type Expectation =
  | { readonly outcome: Outcome }
  | { readonly tree: Tree; readonly within: string }
  | { readonly text: string | undefined }
  | undefined

interface LoggedAction {
  readonly call: number
  readonly action: Action
}

/** Runs a turn, with crashes and resumes, and compares every call and the version with the model. Counts what happened. */
export async function runPlannedTurn(
  system: System,
  conversation: Conversation,
  { machine: first, calls, crashes }: PlannedTurn,
  count: (what: string) => void,
): Promise<Conversation> {
  const { clock, machines } = system
  const { id, turns: earlier } = conversation
  const expected: Expectation[] = []
  let log: readonly LoggedAction[] = []
  let next = 0
  // the position of the first call on another machine. That machine does not have the files that the previous call has pulled
  let movedAt = -1

  const replay = (entries: readonly LoggedAction[]) => {
    const model = beginTurnModel(earlier)
    for (const { action } of entries) model.apply(action)
    return model
  }

  function perform(call: number, action: Action): void {
    expected[call] = { outcome: replay(log).apply(action) }
    log = [...log, { call, action }]
  }

  const decide: Reply = () => {
    const call = next++
    const planned = calls[call]
    if (!planned) return reply.answer('Done.')
    const before = replay(log).files()
    if (isAction(planned)) perform(call, planned)
    else expected[call] = planned.do === 'lookAt' && call === movedAt ? undefined : expectationOf(planned, earlier, before)
    return replyFor(planned, earlier, before)
  }

  function createProcess({ store, workspaces, tools }: Machine, crash: Crash | undefined): Harness {
    const model = scriptedModel(Array.from({ length: calls.length + 5 }, () => decide))
    return createHarness({
      replies: [],
      model,
      clock,
      workspaces,
      tools,
      conversationId: id,
      store: crash ? failingStore(store, crash) : store,
    })
  }

  clock.advance(1_000)
  let at = first
  const known = new Set(earlier.map(({ turnId }) => turnId))
  let alive = await isSuccess(createProcess(machines[at] as Machine, crashes[0]).say('Go on.'), crashes[0])
  for (let crashed = 1; !alive; crashed++) {
    const crash = crashes[crashed - 1] as Crash
    clock.advance(LEASE_MS + 1)
    const turn = await readTurn(machines[at] as Machine, id, known)
    const saved = await (machines[at] as Machine).store.loadVisible(id)
    if (turn.turnId !== undefined && saved?.timeline.openTurn === undefined) break // the last entry of the turn was written
    count(`crash, resumed on ${crash.machine === at ? 'the same' : 'another'} machine`)
    for (let call = turn.calls.length; call < calls.length; call++) expected[call] = undefined
    const [last] = turn.calls.slice(-1)
    const isOpen = last !== undefined && last.results.length === 0
    const done = log.filter(({ call }) => call < turn.calls.length && !(isOpen && call === turn.calls.length - 1 && crash.side === 'after'))
    if (crash.machine === at) log = done
    else {
      log = done.filter(({ call }) => turn.calls[call]?.results.length).flatMap(recordedEffect(expected))
      movedAt = turn.calls.length
    }
    next = turn.calls.length
    const planned = isOpen ? calls[next - 1] : undefined
    if (planned?.do === 'write' || planned?.do === 'checkout') perform(next - 1, planned)
    else if (planned?.do === 'patch' || planned?.do === 'program') expected[next - 1] = undefined
    else if (planned)
      expected[next - 1] = planned.do === 'lookAt' ? undefined : expectationOf(planned as never, earlier, replay(log).files())
    at = crash.machine
    alive = await isSuccess(createProcess(machines[at] as Machine, crashes[crashed]).agent.recover(), crashes[crashed])
    const open = (await (machines[at] as Machine).store.loadVisible(id))?.timeline.openTurn
    alive = open === undefined || (alive && crashes[crashed] === undefined)
    if (open !== undefined && crashes[crashed] === undefined) throw new Error('the turn was not resumed')
  }

  clock.advance(LEASE_MS + 1) // the last process may have died after its last entry
  const machine = machines[at] as Machine
  const turn = await readTurn(machine, id, known)
  if (turn.turnId === undefined) return conversation // the process died before the message was in the journal
  expect(turn.calls.length).toBe(calls.length)
  for (const [call, expectation] of expected.entries())
    checkCall(call, calls[call] as PlannedCall, expectation, turn.calls[call], system, count)
  const finished = { turnId: turn.turnId, ...replay(log).publish() }
  if (movedAt >= 0 && finished.version === undefined) count('turn without a version, after another machine had it')
  const result = { ...conversation, turns: [...earlier, finished] }
  await checkVersion(machine, result, result.turns.length - 1)
  return result
}

const isAction = (call: PlannedCall): call is Action => ['write', 'patch', 'program', 'checkout'].includes(call.do)

/** Whether the work of a process has succeeded. It may fail only because of a planned crash. */
const isSuccess = (work: Promise<unknown>, crash: Crash | undefined): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      if (!crash) throw error
      return false
    },
  )

/** The part of an action that the journal records. Changes of a program are not recorded in the journal. */
function recordedEffect(expected: readonly Expectation[]) {
  return (entry: LoggedAction): readonly LoggedAction[] => {
    const expectation = expected[entry.call]
    const isOk = expectation !== undefined && 'outcome' in expectation && expectation.outcome === 'ok'
    if (!isOk || entry.action.do === 'program') return []
    const { action } = entry
    if (action.do === 'patch') return [{ ...entry, action: { ...action, do: 'write' } }] // the journal has the whole patched file
    return [action.do === 'checkout' ? { ...entry, action: { ...action, force: true } } : entry]
  }
}

function expectationOf(call: Exclude<PlannedCall, Action>, earlier: readonly FinishedTurn[], files: Tree): Expectation {
  if (call.do === 'look') return { tree: files, within: '' }
  const version = earlier[call.turn]?.version ?? {}
  const within = treeWithin(version, call.rel)
  if (call.do === 'lookAt') return { tree: within, within: call.rel }
  if (call.do === 'pull') return { outcome: Object.keys(within).length > 0 ? 'ok' : 'missing' }
  return { text: version[call.rel] }
}

function replyFor(call: PlannedCall, earlier: readonly FinishedTurn[], files: Tree): string {
  const turnId = 'turn' in call ? (earlier[call.turn]?.turnId ?? '') : ''
  const logical = 'turn' in call ? `fi:${turnId}.files${call.rel === '' ? '' : `/${call.rel}`}` : ''
  switch (call.do) {
    case 'write':
      return reply.call('react.write', { path: `files/${call.rel}`, channel: 'canvas', content: call.content, kind: 'display' })
    case 'patch': {
      const patch = `@@ -1 +1 @@\n-${(files[call.rel] ?? 'nothing\n').trimEnd()}\n+${call.content.trimEnd()}\n`
      return reply.call('react.patch', { path: `files/${call.rel}`, channel: 'canvas', patch, kind: 'display' })
    }
    case 'program':
      return reply.call(
        'sample.program',
        { contract: [{ filename: 'outputs/report.md', description: 'A report.' }] },
        { code: programText(call.changes) },
      )
    case 'checkout': {
      const paths = call.sources.map(({ turn, rel }) => `fi:${earlier[turn]?.turnId}.files${rel === '' ? '' : `/${rel}`}`)
      return reply.call('react.checkout', { mode: call.mode, paths, force: call.force })
    }
    case 'look':
      return reply.call('sample.look', {})
    case 'lookAt':
      return reply.call('sample.look', { turn: turnId })
    case 'pull':
      return reply.call('react.pull', { paths: [logical] })
    case 'read':
      return reply.call('react.read', { paths: [logical] })
    case 'echo':
      return reply.call('sample.echo', { text: `ref:${logical}` })
    default:
      return call satisfies never
  }
}

interface CallBlocks {
  readonly callId: string
  readonly results: readonly Block[]
}

/** The calls and results in the journal of the turn that is not in `known` yet. */
async function readTurn({ store }: Machine, conversationId: string, known: ReadonlySet<string>) {
  const blocks: Block[] = []
  for await (const { change } of store.readJournal(conversationId, { after: 0 })) blocks.push(...blocksOfChange(change))
  const turnId = blocks.find(({ turn_id }) => !known.has(turn_id))?.turn_id
  const own = blocks.filter(({ turn_id }) => turn_id === turnId)
  const calls = own.flatMap(({ type, call_id }): readonly CallBlocks[] =>
    type === 'react.tool.call' && call_id !== undefined
      ? [{ callId: call_id, results: own.filter((block) => block.type === 'react.tool.result' && block.call_id === call_id) }]
      : [],
  )
  return { turnId, calls }
}

function checkCall(
  index: number,
  call: PlannedCall,
  expectation: Expectation,
  blocks: CallBlocks | undefined,
  { seen: observed }: System,
  count: (what: string) => void,
): void {
  if (!expectation || !blocks) return
  const text = blocks.results.map((block) => block.text ?? '').join('\n')
  const where = `call ${index}: ${JSON.stringify(call)}`
  count(call.do)
  if ('outcome' in expectation) {
    const outcome = text.includes('react.checkout.nonempty') ? 'nonempty' : text.includes('"error"') ? 'missing' : 'ok'
    expect([where, outcome, text]).toEqual([where, expectation.outcome, text])
    return
  }
  const seen = observed.get(blocks.callId)
  if ('tree' in expectation) {
    expect([where, typeof seen === 'object' ? treeWithin(seen, expectation.within) : seen]).toEqual([where, expectation.tree])
    return
  }
  if (call.do === 'echo') expect([where, seen]).toEqual([where, expectation.text])
  else if (expectation.text === undefined) expect([where, text.includes('"missing":true'), text]).toEqual([where, true, text])
  else if (!text.includes('exists_in_visible_context'))
    expect([where, text.includes(expectation.text.trimEnd()), text]).toEqual([where, true, text])
}

/** Compares the version of a turn that one machine reads with the expected version. */
export async function checkVersion(machine: Machine, { id, turns }: Conversation, position: number): Promise<void> {
  const { turnId, version } = turns[position] as FinishedTurn
  const workspace = await openOn(machine, id)
  const history = historyOf({ records: recordsOf(machine.store, id), blobs: machine.store.blobs })
  const files: Record<string, string> = {}
  for (const { rel } of (await workspace.version(turnId, history)) ?? []) {
    const bytes = await workspace.readVersion(turnId, rel, history)
    files[rel] = bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : String(bytes)
  }
  expect([id, position, files]).toEqual([id, position, version ?? {}])
}
