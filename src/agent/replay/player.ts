import type { Dialect } from '../../core/model-event.ts'
import { type Change, changeTime, type FrozenTexts, type ResponseReceived } from '../../core/timeline/change.ts'
import type { ModelRole } from '../../ports/model.ts'
import type { Entry } from '../../ports/store.ts'
import type { BudgetRefusal } from '../budgets/call-budgets.ts'
import { isTitleResponse, type PendingTitle, startsWith, titleDrafts } from '../turn/title.ts'
import { isAboutLostOptions } from '../turn/turn-options.ts'
import { compareChange } from './compare.ts'
import { type Divergence, describeChange } from './divergence.ts'
import {
  budgetReachedIn,
  callsIn,
  endsOrDecides,
  foldAt,
  isDecision,
  isTitleEntry,
  neverStarted,
  outcomeIn,
  resultEntry,
  seenUpTo,
  withdrawnBeforeCall,
} from './recorded-entries.ts'
import { isSkipped, type Recording } from './recording.ts'

/**
 * Plays the entries of a recorded turn to the current code. It replaces the store, the models and the tools. Events and withdrawals of
 * messages arrive at the same point as in the recording:
 *
 *   during a tool call    while the tool runs
 *   during a model call   if the response was interrupted: before its text. Otherwise: when the call has ended
 *   at any other time     together with the entries that the turn committed before
 *
 * The response of a call for a title, and the title, may have arrived at any point.
 */
export interface Player {
  /** The events that arrived after the turn was opened and before it called the model or committed its next entry. */
  openingEvents(): readonly Entry[]
  /** Whether the recorded process died before it made these changes. In this case the next process read the inbox again. */
  diedBefore(changes: readonly Change[]): boolean
  /** Compares the changes with the recording and returns the recorded entries. Throws `DivergenceError` if they differ. */
  append(changes: readonly Change[]): readonly Entry[]
  /**
   * The recorded response of the model call that begins now. Returns `too long` if the recorded call failed because its prompt was too
   * long, and `died` if the process died during the recorded call, so that the next process read the inbox again. Undefined when the
   * recording has no model call at this point, which is a divergence.
   */
  recordedResponse(role: ModelRole): ResponseReceived | 'too long' | 'died' | undefined
  /** The outcome of a running tool call. Undefined when the recording ends before the tool call has a result. */
  recordedOutcome(callId: string): { readonly ok: boolean; readonly code?: string; readonly changes: readonly Change[] } | undefined
  /** Events and withdrawals that the recording has before the next entry of the turn itself. */
  dueEvents(): readonly Arrival[]
  /**
   * Events and withdrawals that arrived during a model call whose response was not interrupted. They are delivered when the call has ended.
   */
  dueAfterResponse(): readonly Arrival[]
  /**
   * The title in the recording. Its blocks are committed at the same place as in the recording. If the turn has no response of a call for a
   * title, there are no blocks.
   */
  recordedTitle(): PendingTitle
  /** The dialect of the next recorded decision. If there is no further decision, it is the dialect of the last one. */
  nextDialect(): Dialect
  /** The texts that the next recorded compaction freezes. Undefined when this compaction changes no text. */
  nextFrozen(): FrozenTexts | undefined
  /** Whether the next entry of the turn itself is the response of a decision. */
  hasResponseNext(): boolean
  /**
   * The budget that the recorded turn reached before the call that begins now. Undefined when the call was made. `isWrapUp` is true for the
   * last call of a turn that has reached a limit.
   */
  reachedBudget(isWrapUp: boolean): BudgetRefusal | undefined
  /** The recorded changes that the replay has reached so far. */
  played(): readonly Change[]
  now(): string
  callId(): string
  readonly divergence: Divergence | undefined
  /** Called when the turn has ended. If the recording has more entries, this is a divergence. */
  end(): void
}

/** A change that the turn did not make: an accepted event, or the withdrawal of a message. */
export type Arrival = Extract<Change, { readonly type: 'event.accepted' | 'event.folded' }>

/**
 * Thrown to end the replayed turn at the first difference. `Player.divergence` has this difference. Also thrown at the end of a recording
 * whose turn was not closed.
 */
export class DivergenceError extends Error {
  override readonly name = 'DivergenceError'
}

export function createPlayer(
  { entries, withdrawals }: Pick<Recording, 'entries' | 'withdrawals'>,
  checkPrompt: (present: ResponseReceived, recorded: Entry) => Divergence | undefined,
): Player {
  const isClosed = entries.at(-1)?.change.type === 'turn.closed'
  let cursor = 0
  let divergence: Divergence | undefined
  let diedAt: number | undefined // the value of `cursor` when the process last died
  let calls: readonly string[] = [] // the calls without a result, in order
  const titleResponse = entries.map(({ change }) => change).find(isTitleResponse)
  const titleBlocks = titleResponse ? titleDrafts(titleResponse) : []

  const isArrival = (entry: Entry | undefined) =>
    entry !== undefined &&
    (entry.change.type === 'event.accepted' || withdrawals.has(entry.seq) || isAboutLostOptions(entry.change) || isTitleEntry(entry))
  const nextIndex = () => {
    let index = cursor
    while (isArrival(entries[index])) index++
    return index
  }
  const next = () => entries[nextIndex()]
  const diverge = (found: Divergence): never => {
    divergence ??= found
    throw new DivergenceError()
  }
  const takeUntil = (end: number) => {
    const taken = entries.slice(cursor, end)
    cursor = end
    return taken
  }
  const dueEvents = () =>
    entries.slice(cursor, nextIndex()).flatMap(({ change }) => {
      return change.type === 'event.accepted' || change.type === 'event.folded' ? [change satisfies Arrival] : []
    })

  /** Takes the next events from the recording, if they arrived while no model call and no tool call was running. */
  function takeIdleEvents(): readonly Entry[] {
    const following = next()?.change
    if (following === undefined) return []
    if (following.type === 'response.received')
      return takeUntil(cursor + withdrawnBeforeCall(entries.slice(cursor, nextIndex()), withdrawals))
    if (calls[0] !== undefined && !neverStarted(resultEntry(entries, cursor, calls[0]))) return []
    // The recorded turn committed the response alone, before its blocks. When it committed the blocks, it had seen all events that arrived
    // between the two commits. After an interrupted response, it read its inbox, and more events may have arrived after that.
    const last = entries[cursor - 1]?.change
    if (last?.type === 'response.received' && last.finish_reason !== 'interrupted') return takeUntil(nextIndex())
    return takeUntil(seenUpTo(entries, cursor, nextIndex(), withdrawals))
  }

  /** Whether a commit has the blocks of the title and no other blocks. A round makes such a commit when it begins. */
  const isTitleAlone = (change: Change | undefined) => {
    if (change?.type !== 'blocks.appended' || titleBlocks.length === 0) return false
    return change.blocks.length === titleBlocks.length && startsWith(change.blocks, titleBlocks)
  }

  /**
   * Whether the recorded process died at this point, at which the replayed turn calls the model or ends. In this case the recorded turn
   * began another round instead: it committed the title, or it read its inbox a second time.
   */
  function diedHere(): boolean {
    const last = entries.slice(0, cursor).findLast((entry) => !isArrival(entry))
    const readsAgain = last?.change.type === 'event.folded' && foldAt(entries, nextIndex(), withdrawals) !== undefined
    if (!readsAgain && !isTitleAlone(next()?.change)) return false
    if (diedAt === cursor) return false // the replay has already resumed the turn at this point, where the next recorded process continued
    diedAt = cursor
    return true
  }

  /** Whether the present change and the recorded entry withdraw the same message. */
  function isWithdrawn(present: Change | undefined, recorded: Entry | undefined): boolean {
    if (present?.type !== 'event.folded' || recorded?.change.type !== 'event.folded') return false
    return withdrawals.has(recorded.seq) && present.event_ids[0] === recorded.change.event_ids[0]
  }

  function compareAll(changes: readonly Change[]): readonly Entry[] {
    const start = nextIndex()
    for (const [index, change] of changes.entries()) {
      const entry = entries[start + index]
      if (!entry)
        return diverge({
          kind: 'decision',
          seq: entries.at(-1)?.seq ?? 0,
          recorded: describeChange(undefined),
          present: describeChange(change),
        })
      const difference = comparePromptOf(change, entry) ?? compareChange(change, entry)
      if (difference) return diverge(difference)
    }
    return takeUntil(start + changes.length)
  }

  function comparePromptOf(change: Change, entry: Entry): Divergence | undefined {
    const both = change.type === 'response.received' && entry.change.type === 'response.received'
    return both && change.role === undefined && entry.change.type === 'response.received' && entry.change.role === undefined
      ? checkPrompt(change, entry)
      : undefined
  }

  return {
    openingEvents: takeIdleEvents,
    diedBefore: (changes) =>
      !divergence && endsOrDecides(changes.filter((change) => !isSkipped(change))) && !isTitleAlone(changes[0]) && diedHere(),
    append(made) {
      if (divergence) throw new DivergenceError()
      const changes = made.some(isSkipped) ? made.filter((change) => !isSkipped(change)) : made
      const [first] = changes
      if (!first) return []
      const arrival = entries.findIndex((entry, index) => index >= cursor && !isTitleEntry(entry))
      if (first.type === 'event.accepted' || isWithdrawn(first, entries[arrival])) return takeUntil(arrival + 1)
      if (calls[0] !== undefined) {
        const result = resultEntry(entries, cursor, calls[0])
        if (result) {
          calls = calls.slice(1)
          return [...takeUntil(entries.indexOf(result) + 1), ...takeIdleEvents()]
        }
      }
      // The recorded turn was not closed, because its process died or because the turn is still running.
      if (!next() && !isClosed) throw new DivergenceError()
      const recorded = compareAll(changes)
      const begun = callsIn(recorded)
      if (begun.length > 0) calls = begun
      return [...recorded, ...takeIdleEvents()]
    },
    recordedResponse(role) {
      const entry = next()
      const recorded = entry?.change
      if (recorded?.type === 'response.received' && (recorded.role ?? 'decision') === role) return recorded
      if (role === 'decision' && recorded?.type === 'response.received' && recorded.role === 'compaction') return 'too long'
      if (role === 'decision' && diedHere()) return 'died'
      if (entry)
        divergence ??= { kind: 'decision', seq: entry.seq, recorded: describeChange(recorded), present: `the model is asked (${role})` }
      return undefined
    },
    recordedOutcome(callId) {
      const result = resultEntry(entries, cursor, callId)
      if (!result) return undefined
      const before = entries.slice(nextIndex(), entries.indexOf(result))
      const changes = before.slice(before.findLastIndex(({ change }) => change.type === 'blocks.appended') + 1).map(({ change }) => change)
      return { ...outcomeIn(result, callId), changes: changes.filter(({ type }) => type === 'blocks.hidden') }
    },
    dueEvents,
    dueAfterResponse() {
      const following = next()?.change
      return following?.type === 'response.received' && following.finish_reason !== 'interrupted' ? dueEvents() : []
    },
    recordedTitle() {
      return {
        drafts(place) {
          const entry = next()
          const isResponse = entry !== undefined && isDecision(entry)
          const following = isResponse && place === 'with response' ? entries[nextIndex() + 1]?.change : entry?.change
          if (place === 'with response' && !isResponse && isTitleAlone(following)) return undefined // the next process committed the title
          return following?.type === 'blocks.appended' && startsWith(following.blocks, titleBlocks) ? titleBlocks : undefined
        },
        settled: Promise.resolve(),
        stop: async () => {},
      }
    },
    nextDialect() {
      const decision = entries.slice(cursor).find(isDecision) ?? entries.findLast(isDecision)
      return (decision?.change.type === 'response.received' && decision.change.dialect) || 'channels'
    },
    nextFrozen() {
      const compaction = entries.slice(cursor).find(({ change }) => change.type === 'range.compacted')?.change
      return compaction?.type === 'range.compacted' ? compaction.frozen : undefined
    },
    hasResponseNext() {
      const following = next()?.change
      return following?.type === 'response.received' && following.role === undefined
    },
    reachedBudget: (isWrapUp) => budgetReachedIn(entries.slice(nextIndex()), isWrapUp),
    played: () => entries.slice(0, cursor).map(({ change }) => change),
    now() {
      const upcoming = entries.slice(nextIndex()).find((entry) => !isArrival(entry) && changeTime(entry.change) !== undefined)
      const last = upcoming ?? entries.findLast(({ change }) => changeTime(change) !== undefined)
      return (last && changeTime(last.change)) ?? new Date(0).toISOString()
    },
    callId() {
      const decision = entries.slice(cursor).find(({ change }) => change.type === 'response.received' && change.role === undefined)
      return decision?.change.type === 'response.received' ? decision.change.call_id : '0'.repeat(12)
    },
    get divergence() {
      return divergence
    },
    end() {
      const left = entries[cursor]
      if (left)
        divergence ??= { kind: 'decision', seq: left.seq, recorded: describeChange(left.change), present: describeChange(undefined) }
    },
  }
}
