// Reads the entries of a recorded turn: events, calls and results. The player uses these functions to find out in which order they
// happened.

import type { Block } from '../../core/block/index.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { Entry } from '../../ports/store.ts'
import type { BudgetRefusal } from '../budgets/call-budgets.ts'
import { isTitleResponse } from '../turn/title.ts'
import { isAboutLostOptions } from '../turn/turn-options.ts'

/**
 * Whether a commit with these changes is a step of the turn, such as a decision or its end. False for a commit that accepts an event,
 * withdraws an event, or has the blocks of the events that the turn has read.
 */
export const endsOrDecides = (changes: readonly Change[]): boolean =>
  changes.some(({ type }) => type !== 'event.folded') &&
  !changes.some((change) => change.type === 'event.accepted' || (change.type === 'event.folded' && change.turn_id !== null))

export const isDecision = ({ change }: Entry): boolean => change.type === 'response.received' && change.role === undefined

/** Whether an entry is the response of a call for a title, or sets a title. Such entries may be anywhere in a turn. */
export const isTitleEntry = ({ change }: Entry): boolean => change.type === 'title.set' || isTitleResponse(change)

/**
 * The index after the last event or withdrawal that the turn saw when it read its inbox. The events from this index on arrived later, while
 * the turn committed the blocks of the events that it had read.
 */
export function seenUpTo(entries: readonly Entry[], from: number, until: number, withdrawals: ReadonlySet<number>): number {
  const folded = foldAt(entries, until, withdrawals)
  if (!folded) return until
  const seen = entries
    .slice(from, until)
    .findLastIndex(({ seq, change }) => (change.type === 'event.accepted' ? folded.includes(change.event.event_id) : withdrawals.has(seq)))
  return from + seen + 1
}

/** The ids of the events that the turn reads in its commit at this index. Undefined when this commit does not read the inbox. */
export function foldAt(entries: readonly Entry[], index: number, withdrawals: ReadonlySet<number>): readonly string[] | undefined {
  const coming = entries
    .slice(index, index + MAX_FOLD_ENTRIES)
    .filter(({ seq }) => !withdrawals.has(seq))
    .map(({ change }) => change)
  const end = coming.findIndex(({ type }) => type !== 'blocks.appended' && type !== 'sources.merged')
  const fold = coming[end]
  if (fold?.type !== 'event.folded') return undefined
  const expired = coming[end + 1]
  if (fold.turn_id === null && expired?.type === 'turn.closed') return undefined // this commit ends the turn and removes late steers
  return [...fold.event_ids, ...(expired?.type === 'event.folded' ? expired.event_ids : [])]
}

/**
 * How many of `arrivals` happened before the model was called. `arrivals` are the events and withdrawals that the recording has before a
 * response. A turn reads all waiting messages before it calls the model. Therefore a message that was waiting before the `arrivals` and
 * that one of them withdraws was withdrawn before the call. A message that one of the `arrivals` accepts arrived during the call.
 */
export function withdrawnBeforeCall(arrivals: readonly Entry[], withdrawals: ReadonlySet<number>): number {
  const accepted = new Set(arrivals.flatMap(({ change }) => (change.type === 'event.accepted' ? [change.event.event_id] : [])))
  const last = arrivals.findLastIndex(
    ({ seq, change }) =>
      (withdrawals.has(seq) && change.type === 'event.folded' && change.event_ids.some((id) => !accepted.has(id))) ||
      isAboutLostOptions(change),
  )
  return last + 1
}

/**
 * The largest number of entries in the commit with which a turn reads its inbox: the blocks of the events, their sources, the ids of the
 * read events, and the ids of steers for other turns, which are removed.
 */
const MAX_FOLD_ENTRIES = 4

const blocksOf = ({ change }: Entry): readonly Block[] => (change.type === 'blocks.appended' ? change.blocks : [])

/** The ids of the calls in these entries, in order. */
export const callsIn = (recorded: readonly Entry[]): readonly string[] =>
  recorded.flatMap(blocksOf).flatMap(({ type, call_id }) => (type === 'react.tool.call' && call_id !== undefined ? [call_id] : []))

/** The entry with the result of a call. It is the last entry of its commit. */
export function resultEntry(entries: readonly Entry[], from: number, call: string): Entry | undefined {
  const belongs = (entry: Entry) => blocksOf(entry).some(({ call_id, meta }) => call_id === call || meta?.tool_call_id === call)
  return entries.slice(from).find(belongs)
}

const resultIn = (entry: Entry, call: string | undefined) =>
  blocksOf(entry).findLast(({ type, call_id }) => type === 'react.tool.result' && (call === undefined || call_id === call))

export function outcomeIn(entry: Entry, call: string | undefined): { readonly ok: boolean; readonly code?: string } {
  const payload = parseJson(resultIn(entry, call)?.text)
  if (!isObject(payload) || payload.ok !== false) return { ok: true }
  const code = isObject(payload.error) && typeof payload.error.code === 'string' ? payload.error.code : 'tool_error'
  return { ok: false, code }
}

export function neverStarted(entry: Entry | undefined): boolean {
  return entry !== undefined && (resultIn(entry, undefined)?.text?.includes('before the tool was started') ?? false)
}

/**
 * The budget that the turn reached before a call that would begin with these entries. Undefined when the call was made. A turn that has
 * reached a budget makes one more call with `wrap_up`, or ends without another response. A turn may also wait for a larger budget, but
 * these entries contain no waits.
 */
export function budgetReachedIn(entries: readonly Entry[], isWrapUp: boolean): BudgetRefusal | undefined {
  for (const { change } of entries) {
    if (change.type === 'response.received' && change.role === undefined)
      return change.wrap_up === 'money' && !isWrapUp ? recordedRefusal : undefined
    if (change.type === 'turn.closed' && change.exit_reason === 'unpriced') return { ...recordedRefusal, because: 'unpriced' }
    if (change.type === 'turn.closed') return change.exit_reason === 'budget' ? recordedRefusal : undefined
  }
  return undefined
}

/** The journal does not say which budget was reached. */
const recordedRefusal: BudgetRefusal = { name: '', because: 'money' }
