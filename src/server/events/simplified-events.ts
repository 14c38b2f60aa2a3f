import type { LaneEvent, TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { blocksOfChange, type Change, type Wait } from '../../core/timeline/change.ts'
import { type CitedPage, createKnownSources } from '../../core/view/known-sources.ts'
import { readChange } from '../../core/view/read-change.ts'
import { createShownTexts, createTextNames, type TextLane, textLaneOf } from '../../core/view/shown-texts.ts'
import type { VisibleEvent } from '../../core/view/visible-event.ts'

/** An event for AG-UI or the AI SDK. These protocols have only text, tool calls, sources and files. */
export type SimplifiedEvent =
  /** The first event of every stream. It is also sent if the client connects in the middle of a turn. */
  | { readonly kind: 'turn.start'; readonly turnId: string }
  /** A piece of the thinking or of the answer. `first` is true for the first piece of each text. */
  | { readonly kind: 'text'; readonly of: TextLane; readonly id: string; readonly text: string; readonly first: boolean }
  | { readonly kind: 'text.end'; readonly of: TextLane; readonly id: string }
  | { readonly kind: 'call'; readonly callId: string; readonly toolId: string; readonly params: unknown }
  /** The first result of a tool call. Further results of the call are left out, because AG-UI and the AI SDK allow only one per call. */
  | { readonly kind: 'result'; readonly callId: string; readonly text: string; readonly failed: boolean }
  | { readonly kind: 'source'; readonly page: CitedPage }
  | { readonly kind: 'file'; readonly rn: string; readonly mime: string; readonly filename: string }
  /**
   * The turn waits, and does nothing until something that it waits for, or a message, arrives. The stream ends with this event. `waits` are
   * all waits of the turn. When the turn continues, the client opens another stream for the rest of the turn.
   */
  | { readonly kind: 'turn.wait'; readonly waits: readonly Wait[] }
  /** The end of the turn. `stopped` is true if the user stopped the turn with an empty steer, or while the answer was being written. */
  | { readonly kind: 'turn.end'; readonly exitReason: string; readonly ok: boolean; readonly stopped: boolean }

/**
 * Makes a function that converts each event of a stream to simplified events. Call it with the events in order. It sends text when the
 * deltas arrive. If a text had no deltas, it sends the whole text when the entry with the text arrives. If a model call is tried again, its
 * text gets a new id, because AG-UI and the AI SDK can not take back the text of the first try.
 */
export function createEventSimplifier(rows: Iterable<SourceRow>): (event: TurnEvent) => readonly SimplifiedEvent[] {
  const simplify = createPlacedSimplifier(rows)
  return (event) => simplify(event).map((placed) => placed.event)
}

/**
 * A simplified event and its place in its entry, counted from 0. The place depends only on the entry, so it is the same in every stream.
 * Two events have no place, because only some streams send them:
 *
 * - `text.end` for a text that was open when the entry arrived
 * - `turn.start` for a client that connects in the middle of the turn
 */
interface PlacedEvent {
  readonly event: SimplifiedEvent
  readonly place?: number
}

/** Like `createEventSimplifier`, but the returned function also returns the place of each event. */
export function createPlacedSimplifier(rows: Iterable<SourceRow>): (event: TurnEvent) => readonly PlacedEvent[] {
  const sources = createKnownSources(rows)
  const shown = createShownTexts()
  const nameOf = createTextNames()
  const begunTexts = new Set<string>()
  const answeredCalls = new Set<string>()
  const waits = new Map<string, Wait>()
  let open: { readonly of: TextLane; readonly id: string } | undefined
  let started = false
  let stopped = false

  function textPiece(of: TextLane, id: string, text: string): SimplifiedEvent {
    const first = !begunTexts.has(id)
    begunTexts.add(id)
    return { kind: 'text', of, id, text, first }
  }
  function closeText(): readonly SimplifiedEvent[] {
    const ended = open
    open = undefined
    return ended ? [{ kind: 'text.end', ...ended }] : []
  }

  function fromDelta(event: LaneEvent): readonly SimplifiedEvent[] {
    const { turn_id: turnId, iteration, delta } = event
    const of = textLaneOf(event)
    if (of === undefined) return []
    const id = nameOf(event, of)
    const before = open?.id === id ? [] : closeText()
    if (delta.text === '') return [...before, ...(delta.completed ? closeText() : [])]
    shown.add({ turnId, iteration }, of)
    open = { of, id }
    return [...before, textPiece(of, id, delta.text), ...(delta.completed ? closeText() : [])]
  }

  function wholeText(
    of: TextLane,
    round: { readonly turnId: string; readonly iteration: number },
    text: string,
  ): readonly SimplifiedEvent[] {
    if (shown.has(round, of) || text === '') return []
    shown.add(round, of)
    const id = `${round.turnId}.${round.iteration}.${of}`
    return [...closeText(), textPiece(of, id, text), { kind: 'text.end', of, id }]
  }

  function fromVisible(event: VisibleEvent): readonly SimplifiedEvent[] {
    switch (event.kind) {
      case 'turn.started':
        stopped = false
        return [...closeText(), { kind: 'turn.start', turnId: event.turnId }]
      case 'turn.ended':
        return [...closeText(), { kind: 'turn.end', exitReason: event.exitReason, ok: !event.failed, stopped }]
      case 'turn.waiting':
        for (const wait of event.waits) waits.set(wait.wait_id, wait)
        return event.parked ? [...closeText(), { kind: 'turn.wait', waits: [...waits.values()] }] : []
      case 'turn.resumed':
        for (const id of event.waitIds) waits.delete(id)
        return []
      case 'message':
        stopped ||= event.from === 'steer' && event.text.trim() === ''
        return []
      case 'thinking':
        return wholeText('thinking', event, event.text)
      case 'answer':
        stopped ||= event.stopped
        return event.state === 'attempt' ? [] : wholeText('answer', event, sources.linkCitations(event.text))
      case 'tool.call': {
        const { call } = event
        return call ? [...closeText(), { kind: 'call', callId: call.tool_call_id, toolId: call.tool_id, params: call.params }] : []
      }
      case 'tool.result': {
        const { callId, text, failed, isOutput } = event
        if (callId === undefined || text === undefined || !isOutput || answeredCalls.has(callId)) return []
        answeredCalls.add(callId)
        return [{ kind: 'result', callId, text, failed }]
      }
      case 'file':
        return [{ kind: 'file', rn: event.file.rn, mime: event.mime ?? 'application/octet-stream', filename: event.file.filename }]
      case 'sources.found':
        sources.add(event.rows)
        return []
      case 'sources.cited':
        return sources.citedPages(event.sids).map((page) => ({ kind: 'source', page }))
      default:
        return [] // AG-UI and the AI SDK have no events for the other kinds
    }
  }

  function eventsOfEntry(change: Change): readonly PlacedEvent[] {
    let next = 0
    return readChange(change).flatMap((visible) => {
      const events = fromVisible(visible)
      // if a text was open before this entry, its `text.end` comes first. It gets no place
      const firstOwn = events.findIndex(({ kind }) => kind !== 'text.end')
      const place = next
      // A place is also reserved for an event that this stream leaves out. Otherwise the later places would differ between streams.
      // `sources.cited` needs a place for each source, a whole text needs two places, and every other kind needs at most one.
      next += visible.kind === 'sources.cited' ? visible.sids.length : 2
      return events.map((event, at) => (at < firstOwn ? { event } : { event, place: place + at - firstOwn }))
    })
  }

  return (event) => {
    if (event.type === 'status') return []
    const events = event.type === 'entry' ? eventsOfEntry(event.change) : fromDelta(event).map((each) => ({ event: each }))
    const [first] = events
    if (started || !first) return events
    started = true
    // a client that connects in the middle of the turn has not received `turn.start`
    return first.event.kind === 'turn.start' ? events : [{ event: { kind: 'turn.start', turnId: turnIdOf(event) } }, ...events]
  }
}

/** The id of the turn of an event. Empty for an entry that belongs to no turn. */
function turnIdOf(event: TurnEvent): string {
  if (event.type !== 'entry') return event.turn_id
  const { change } = event
  if ('turn_id' in change && typeof change.turn_id === 'string') return change.turn_id
  return blocksOfChange(change)[0]?.turn_id ?? ''
}
