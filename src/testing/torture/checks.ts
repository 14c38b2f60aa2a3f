import type { Block } from '../../core/block/index.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { blocksOfChange } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { ConversationStore, Entry } from '../../ports/store.ts'
import { normalizedLines, withoutResultsOf } from './long-turn.ts'
import { openPlace, type TorturePlace } from './place.ts'
import { hashOf, notesOf, type TortureNote } from './records.ts'
import { type Violation, violation } from './scenario.ts'

/** The data of a conversation in the store. */
export interface ConversationState {
  readonly journal: readonly Entry[]
  readonly timeline: Timeline | undefined
}

export type States = ReadonlyMap<string, ConversationState>

/** Opens the store of a place in this process, uses it, and closes it. */
export async function withStore<T>(place: TorturePlace, use: (store: ConversationStore) => Promise<T>): Promise<T> {
  const { store } = await openPlace(place)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

export async function stateOf(store: ConversationStore, conversationId: string): Promise<ConversationState> {
  const journal: Entry[] = []
  for await (const entry of store.readJournal(conversationId, { after: 0 })) journal.push(entry)
  return { journal, timeline: (await store.loadVisible(conversationId))?.timeline }
}

/**
 * Reads conversations from a store that this process has just opened. So only stored data is checked, and no data that a process had in
 * memory.
 */
export const readStates = (place: TorturePlace, ids: readonly string[]): Promise<States> =>
  withStore(place, async (store) => {
    const states = new Map<string, ConversationState>()
    for (const id of ids) states.set(id, await stateOf(store, id))
    return states
  })

/** Checks that the entries of each journal are numbered from 1, and that no journal contains anything twice. */
export function checkJournals(states: States): readonly Violation[] {
  return [...states].flatMap(([id, { journal }]) => {
    const changes = journal.map(({ change }) => change)
    const gap = journal.findIndex(({ seq }, index) => seq !== index + 1)
    const unique: readonly (readonly [string, readonly string[]])[] = [
      ['the block', changes.flatMap((change) => blocksOfChange(change).map((block) => block.id))],
      ['the event', changes.flatMap((change) => (change.type === 'event.accepted' ? [change.event.event_id] : []))],
      ['the reading of the event', changes.flatMap((change) => (change.type === 'event.folded' ? change.event_ids : []))],
      ['the start of the turn', changes.flatMap((change) => (change.type === 'turn.opened' ? [change.turn_id] : []))],
      ['the end of the turn', changes.flatMap((change) => (change.type === 'turn.closed' ? [change.turn_id] : []))],
      ['the result of the call', changes.flatMap(resultsIn)],
    ]
    return [
      ...(gap < 0 ? [] : [violation('disordered', `${id}: entry ${gap + 1} has the number ${journal[gap]?.seq}`)]),
      ...unique.flatMap(([what, names]) => twice(names).map((name) => violation('doubled', `${id}: ${what} ${name} is stored twice`))),
    ]
  })
}

/** The calls that have a result in a change. The blocks of one result are in one change. */
const resultsIn = (change: Entry['change']): readonly string[] => [
  ...new Set(blocksOfChange(change).flatMap((block) => (block.type === 'react.tool.result' ? [block.call_id ?? ''] : []))),
]

export const twice = <T>(values: readonly T[]): readonly T[] => [
  ...new Set(values.filter((value, index) => values.indexOf(value) !== index)),
]

/** Checks that every entry that the store has acknowledged is in the journal, unchanged. */
export function checkStored(notes: readonly TortureNote[], states: States): readonly Violation[] {
  const hashes = new Map([...states].map(([id, { journal }]) => [id, new Map(journal.map(({ seq, change }) => [seq, hashOf(change)]))]))
  return notesOf(notes, 'stored').flatMap(({ conversationId, seq, hash }) => {
    const stored = hashes.get(conversationId)?.get(seq)
    if (stored === undefined) return [violation('lost', `${conversationId}: entry ${seq} was acknowledged and is not in the journal`)]
    return stored === hash ? [] : [violation('lost', `${conversationId}: entry ${seq} is not the one that was acknowledged`)]
  })
}

/**
 * Checks that a tool ran once for each call that has a result. For a call with an unknown outcome, the tool may have run or not. A tool may
 * have run twice only if the journal says so, and only if it is repeatable. No tool may have run without a call in the journal.
 */
export function checkEffects(notes: readonly TortureNote[], states: States): readonly Violation[] {
  const effects = notesOf(notes, 'effect')
  return [...states].flatMap(([id, { journal }]) => {
    const changes = journal.map(({ change }) => change)
    const own = effects.filter(({ conversationId }) => conversationId === id)
    const calls = new Set(changes.flatMap((change) => callIdsOf(blocksOfChange(change))))
    const repeated = new Set(changes.flatMap((change) => (change.type === 'call.repeated' ? [change.call_id] : [])))
    const results = changes.flatMap((change) => blocksOfChange(change)).filter(({ type }) => type === 'react.tool.result')
    const known = new Set(results.filter((block) => !isUnknown(block)).map(({ call_id }) => call_id))
    const byStep = Map.groupBy(own, ({ toolId, iteration }) => `${toolId} in round ${iteration}`)
    const ran = new Set(own.map(({ callId }) => callId))
    return [
      ...own
        .filter(({ callId }) => !calls.has(callId))
        .map(({ toolId, iteration }) => violation('lost', `${id}: ${toolId} ran in round ${iteration}, and the journal has no such call`)),
      ...[...byStep]
        .filter(([, list]) => list.length > 1 && !(list.every(({ callId }) => repeated.has(callId)) && list[0]?.toolId === 'shop.look'))
        .map(([step, list]) => violation('repeated', `${id}: ${step} ran ${list.length} times`)),
      ...callsOf(changes.flatMap((change) => blocksOfChange(change)))
        .filter(({ callId, toolId }) => toolId.startsWith('shop.') && known.has(callId) && !ran.has(callId))
        .map(({ toolId, callId }) => violation('different', `${id}: call ${callId} of ${toolId} has a result, and the tool did not run`)),
    ]
  })
}

const callIdsOf = (blocks: readonly Block[]): readonly string[] => callsOf(blocks).map(({ callId }) => callId)

function callsOf(blocks: readonly Block[]): readonly { readonly callId: string; readonly toolId: string }[] {
  return blocks.flatMap((block) => {
    if (block.type !== 'react.tool.call' || block.call_id === undefined) return []
    const call = parseJson(block.text)
    return [{ callId: block.call_id, toolId: isObject(call) ? String(call.tool_id) : '' }]
  })
}

const isUnknown = (block: Block): boolean => {
  const payload = parseJson(block.text)
  return isObject(payload) && isObject(payload.error) && payload.error.code === 'outcome_unknown'
}

/**
 * Checks that no process asks the model again for a response that is in the journal. `states` are the journals at the start of a phase of
 * the test. `later` are the notes that the processes have written since then.
 */
export function checkPaidOnce(states: States, later: readonly TortureNote[]): readonly Violation[] {
  return notesOf(later, 'asked').flatMap(({ conversationId, iteration }) => {
    const journal = states.get(conversationId)?.journal ?? []
    const isStored = journal.some(
      ({ change }) => change.type === 'response.received' && change.role === undefined && change.iteration === iteration,
    )
    return isStored ? [violation('paid twice', `${conversationId}: the model was asked again for round ${iteration}`)] : []
  })
}

/** Checks that every turn that was opened has ended, and that it has the same blocks as a turn that was not disturbed. */
export function checkFinished(states: States, reference: readonly string[]): readonly Violation[] {
  return [...states].flatMap(([id, { journal, timeline }]) => {
    if (journal.length === 0 || timeline === undefined) return []
    const isClosed = journal.some(({ change }) => change.type === 'turn.closed')
    if (!isClosed) return [violation('stuck', `${id}: its turn did not end`)]
    const { lines, unknown } = normalizedLines(timeline)
    const expected = withoutResultsOf(reference, unknown)
    const found = withoutResultsOf(lines, unknown)
    const at = expected.findIndex((line, index) => line !== found[index])
    if (at < 0 && found.length === expected.length) return []
    const line = (at < 0 ? found[expected.length] : expected[at]) ?? ''
    return [violation('different', `${id}: line ${at + 1} of its turn is not that of an undisturbed turn: ${line.slice(0, 80)}`)]
  })
}
