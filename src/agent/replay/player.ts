import type { Block } from '../../core/block/index.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { type Change, changeTime, type InboxEvent, type ResponseReceived } from '../../core/timeline/change.ts'
import type { ModelRole } from '../../ports/model.ts'
import type { Entry } from '../../ports/store.ts'
import { compareChange } from './compare.ts'
import { type Divergence, describeChange } from './divergence.ts'

/**
 * Holds the record and says, wherever the present code turns to the world, what the world did then. What came from outside comes
 * again where it came before:
 *
 *   during a tool            it is delivered while the tool runs
 *   during a model's answer  a steer that cut it short comes when the answer has come so far; anything else when it is over
 *   between two entries      it is there as soon as the first is
 */
export interface Player {
  /** Events that were there when the turn had just been opened. */
  openingEvents(): readonly Entry[]
  /** What a store would do: compares, and answers with what stands on record. Throws `Diverged`. */
  append(changes: readonly Change[]): readonly Entry[]
  /** What the model had answered; undefined, and the end, when it was not asked. */
  recordedResponse(role: ModelRole): ResponseReceived | 'too long' | undefined
  /** What came of the call that is running; undefined when the record ends before it. */
  recordedOutcome(): { readonly ok: boolean; readonly code?: string; readonly changes: readonly Change[] } | undefined
  /** Events that come before the next entry. */
  dueEvents(): readonly InboxEvent[]
  /** They came after a model had said all there is on record. */
  dueAfterResponse(): readonly InboxEvent[]
  now(): string
  callId(): string
  readonly divergence: Divergence | undefined
  /** The turn is over; the record should be, too. */
  end(): void
}

/** Ends the turn on trial; what is to be told is in the conductor. */
export class DivergenceError extends Error {
  override readonly name = 'Diverged'
}

export function createPlayer(
  entries: readonly Entry[],
  checkPrompt: (present: ResponseReceived, recorded: Entry) => Divergence | undefined,
): Player {
  let cursor = 0
  let divergence: Divergence | undefined
  let call: string | undefined

  const nextIndex = () => {
    let index = cursor
    while (entries[index]?.change.type === 'event.accepted') index++
    return index
  }
  const next = () => entries[nextIndex()]
  const diverge = (found: Divergence): never => {
    divergence ??= found
    throw new DivergenceError()
  }
  const take = (until: number) => {
    const taken = entries.slice(cursor, until)
    cursor = until
    return taken
  }
  const dueEvents = () =>
    entries.slice(cursor, nextIndex()).flatMap(({ change }) => (change.type === 'event.accepted' ? [change.event] : []))

  /** Between two entries: nothing runs that they could come in during. */
  function between(): readonly Entry[] {
    const following = next()?.change
    if (following === undefined || following.type === 'response.received') return []
    if (call !== undefined && !neverStarted(resultEntry(entries, cursor, call))) return []
    return take(seenUpTo(entries, cursor, nextIndex()))
  }

  function compared(changes: readonly Change[]): readonly Entry[] {
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
      const found = promptOf(change, entry) ?? compareChange(change, entry)
      if (found) return diverge(found)
    }
    return take(start + changes.length)
  }

  function promptOf(change: Change, entry: Entry): Divergence | undefined {
    const both = change.type === 'response.received' && entry.change.type === 'response.received'
    return both && change.role === undefined && entry.change.type === 'response.received' && entry.change.role === undefined
      ? checkPrompt(change, entry)
      : undefined
  }

  return {
    openingEvents: between,
    append(changes) {
      if (divergence) throw new DivergenceError()
      const [first] = changes
      if (first?.type === 'event.accepted') return take(cursor + 1)
      if (call !== undefined) {
        const end = resultEntry(entries, cursor, call)
        if (end) {
          call = undefined
          return [...take(entries.indexOf(end) + 1), ...between()]
        }
      }
      const taken = compared(changes)
      call = pendingCall(taken) ?? call
      return [...taken, ...between()]
    },
    recordedResponse(role) {
      const entry = next()
      const recorded = entry?.change
      if (recorded?.type === 'response.received' && (recorded.role ?? 'decision') === role) return recorded
      if (role === 'decision' && recorded?.type === 'response.received' && recorded.role === 'compaction') return 'too long'
      if (entry)
        divergence ??= { kind: 'decision', seq: entry.seq, recorded: describeChange(recorded), present: `the model is asked (${role})` }
      return undefined
    },
    recordedOutcome() {
      const result = call === undefined ? undefined : resultEntry(entries, cursor, call)
      if (!result) return undefined
      const changes = entries.slice(nextIndex(), entries.indexOf(result)).map(({ change }) => change)
      return { ...outcomeIn(result, call), changes: changes.filter(({ type }) => type === 'blocks.hidden') }
    },
    dueEvents: dueEvents,
    dueAfterResponse() {
      const following = next()?.change
      return following?.type === 'response.received' && following.finish_reason !== 'interrupted' ? dueEvents() : []
    },
    now() {
      const upcoming = entries.slice(nextIndex()).find(({ change }) => change.type !== 'event.accepted' && changeTime(change) !== undefined)
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

/** Up to where events were there when the turn looked. What came while the fold waited to be entered came after the look. */
function seenUpTo(entries: readonly Entry[], from: number, until: number): number {
  const coming = entries.slice(until, until + LONGEST_FOLD).map(({ change }) => change)
  const end = coming.findIndex(({ type }) => type !== 'blocks.appended' && type !== 'sources.merged')
  const fold = coming[end]
  if (fold?.type !== 'event.folded') return until
  const expired = coming[end + 1]
  const folded = [...fold.event_ids, ...(expired?.type === 'event.folded' ? expired.event_ids : [])]
  const seen = entries
    .slice(from, until)
    .findLastIndex(({ change }) => change.type === 'event.accepted' && folded.includes(change.event.event_id))
  return from + seen + 1
}

/** Blocks, their sources, the events that are the turn's own, and those that are nobody's. */
const LONGEST_FOLD = 4

const blocksOf = ({ change }: Entry): readonly Block[] => (change.type === 'blocks.appended' ? change.blocks : [])

function pendingCall(taken: readonly Entry[]): string | undefined {
  const blocks = taken.flatMap(blocksOf)
  return blocks.find(({ type }) => type === 'react.tool.call')?.call_id
}

/** The entry that ends a call: the last of its commit. */
function resultEntry(entries: readonly Entry[], from: number, call: string): Entry | undefined {
  const belongs = (entry: Entry) => blocksOf(entry).some(({ call_id, meta }) => call_id === call || meta?.tool_call_id === call)
  return entries.slice(from).find(belongs)
}

const resultIn = (entry: Entry, call: string | undefined) =>
  blocksOf(entry).findLast(({ type, call_id }) => type === 'react.tool.result' && (call === undefined || call_id === call))

function outcomeIn(entry: Entry, call: string | undefined): { readonly ok: boolean; readonly code?: string } {
  const payload = parseJson(resultIn(entry, call)?.text)
  if (!isObject(payload) || payload.ok !== false) return { ok: true }
  const code = isObject(payload.error) && typeof payload.error.code === 'string' ? payload.error.code : 'tool_error'
  return { ok: false, code }
}

function neverStarted(entry: Entry | undefined): boolean {
  return entry !== undefined && (resultIn(entry, undefined)?.text?.includes('before the tool was started') ?? false)
}
