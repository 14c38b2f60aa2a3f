import { applyChange } from '../../core/timeline/apply.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { ShownFingerprints } from '../../core/timeline/response-record.ts'
import { emptyTimeline, type Timeline } from '../../core/timeline/timeline.ts'
import { FORKED, IMPORTED_OPEN } from '../../core/timeline/turn-log.ts'
import type { Entry } from '../../ports/store.ts'

/**
 * One turn, read from the journal:
 *
 *   … turn.closed │ feedback inserted │ turn.opened  event.folded  blocks.appended  sources.merged │ everything it did … turn.closed
 *                 ▲ before                                                                         ▲ start
 *
 * `before` and `start` are the timelines at these two positions. The entries up to `start` are the user's input. After `start`, the changes
 * that the current code makes are compared with the entries of the journal.
 */
export interface Recording {
  readonly turnId: string
  readonly before: Timeline
  readonly start: Timeline
  readonly startSeq: number
  readonly entries: readonly Entry[]
  /** The `seq` of every entry that withdraws a message. The sender of the message made this entry, not the turn. */
  readonly withdrawals: ReadonlySet<number>
  /** The blocks that the last prompt before this turn contained. */
  readonly shown: RecordedPrompt
  /**
   * True when the turn can not be replayed: a retention policy has removed entries before the turn or in it, or the turn was imported. An
   * imported turn has no responses.
   */
  readonly torn: boolean
}

/**
 * The blocks that a prompt contained, collected from its record and the records of earlier prompts. An item is undefined when no record has
 * this block.
 */
export interface RecordedPrompt {
  readonly hashes: readonly (number | undefined)[]
  readonly texts: readonly (string | undefined)[]
}

const emptyPrompt: RecordedPrompt = { hashes: [], texts: [] }

/**
 * The prompt that follows `before`. Its record contains only the blocks from index `from` on. Its earlier blocks are the same as in
 * `before`.
 */
export function withShownBlocks(before: RecordedPrompt, shown: ShownFingerprints | undefined): RecordedPrompt {
  if (!shown) return before
  const { from, hashes, texts = [] } = shown
  return { hashes: [...padTo(before.hashes, from), ...hashes], texts: [...padTo(before.texts, from), ...hashes.map((_, n) => texts[n])] }
}

const padTo = <T>(list: readonly T[], count: number): readonly (T | undefined)[] =>
  Array.from({ length: count }, (_, position) => list[position])

/** Yields every turn of a journal, oldest first. The last turn may still be open. */
export async function* recordingsIn(journal: AsyncIterable<Entry>): AsyncGenerator<Recording> {
  let timeline = emptyTimeline()
  let shown = emptyPrompt
  let torn = false
  let lastSeq = 0
  let before: Timeline | undefined
  let open: OpenRecording | undefined
  for await (const entry of journal) {
    const { change, seq } = entry
    torn ||= seq !== lastSeq + 1
    lastSeq = seq
    if (change.type === 'turn.opened') {
      open = { turnId: change.turn_id, before: before ?? timeline, opened: timeline, entries: [], withdrawals: new Set(), shown }
    } else if (!open && !precedesTurn(change)) before = undefined
    else if (!open) before ??= timeline
    open?.entries.push(entry)
    if (isWithdrawal(change, timeline)) open?.withdrawals.add(seq)
    timeline = applyChange(timeline, change)
    if (change.type === 'response.received' && change.role === undefined) shown = withShownBlocks(shown, change.prompt?.shown)
    if (change.type === 'turn.closed' && open?.turnId === change.turn_id) {
      yield recordingOf(open, torn || importedReasons.has(change.exit_reason))
      open = undefined
      before = undefined
    }
  }
  if (open) yield recordingOf(open, torn)
}

/** The exit reasons of imported turns. */
const importedReasons: ReadonlySet<string> = new Set(['imported', IMPORTED_OPEN, FORKED])

/**
 * Whether a replay skips the change in its comparison. In a replay no process dies, so no call is repeated. Tools may return in another
 * order than in the recording, so the replay may make `call.finished` for other calls.
 */
export const isSkipped = ({ type }: Change): boolean => type === 'call.repeated' || type === 'call.finished'

/**
 * Whether a change belongs to the turn that is opened after this change. Just before `turn.opened`, feedback is inserted into earlier
 * turns.
 */
const precedesTurn = ({ type }: Change) => type === 'blocks.inserted' || type === 'event.folded' || type === 'feedback.seen'

/** Whether the change withdraws a followup. Other messages that are removed without being read are steers, which a turn removes itself. */
const isWithdrawal = (change: Change, { inbox }: Timeline): boolean =>
  change.type === 'event.folded' &&
  change.turn_id === null &&
  inbox.some(({ event_id, kind }) => kind === 'followup' && change.event_ids.includes(event_id))

interface OpenRecording extends Pick<Recording, 'turnId' | 'before' | 'shown'> {
  readonly withdrawals: Set<number>
  readonly opened: Timeline
  readonly entries: Entry[]
}

function recordingOf({ turnId, before, opened, entries: all, withdrawals, shown }: OpenRecording, torn: boolean): Recording {
  const entries = comparedEntries(all)
  const opening = entries.slice(0, openingLength(entries))
  const start = withWaitedTime(
    opening.reduce((value, { change }) => applyChange(value, change), opened),
    all,
  )
  return { turnId, before, start, startSeq: opening.at(-1)?.seq ?? 0, entries: entries.slice(opening.length), withdrawals, shown, torn }
}

/**
 * The entries that a replay compares. Waits and the events that ended them are left out. A replay does not wait: a call that waited gets
 * its recorded result like any other call.
 */
function comparedEntries(entries: readonly Entry[]): readonly Entry[] {
  const used = new Set<string>()
  for (const [index, { change }] of entries.entries()) {
    if (change.type === 'event.folded' && endsWait(entries[index + 1]?.change)) for (const id of change.event_ids) used.add(id)
    if (change.type === 'event.accepted' && change.event.kind === 'decision') used.add(change.event.event_id)
  }
  return entries.flatMap((entry) => {
    const { change } = entry
    if (change.type === 'event.accepted') return used.has(change.event.event_id) ? [] : [entry]
    if (change.type !== 'event.folded' || !change.event_ids.some((id) => used.has(id)))
      return isWait(change) || isSkipped(change) ? [] : [entry]
    const event_ids = change.event_ids.filter((id) => !used.has(id))
    return event_ids.length === 0 ? [] : [{ ...entry, change: { ...change, event_ids } }]
  })
}

const isWait = ({ type }: Change): boolean => type === 'turn.waiting' || type === 'turn.resumed'
const endsWait = (next: Change | undefined): boolean => next?.type === 'turn.resumed' || next?.type === 'call.finished'

/** The timeline at the start of the turn, with the waiting time of the whole turn added. The time limit does not include this time. */
function withWaitedTime(start: Timeline, entries: readonly Entry[]): Timeline {
  const waits = entries.map(({ change }) => change).filter(isWait)
  const waited = waits.reduce(applyChange, start).openTurn?.waited_ms
  return start.openTurn && waited !== undefined ? { ...start, openTurn: { ...start.openTurn, waited_ms: waited } } : start
}

function openingLength(entries: readonly Entry[]): number {
  let length = 0
  for (const type of ['turn.opened', 'event.folded', 'blocks.appended', 'sources.merged']) {
    if (entries[length]?.change.type === type) length++
  }
  return length
}
