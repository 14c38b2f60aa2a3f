import type { LaneEvent, TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { blocksOfChange, type Change } from '../../core/timeline/change.ts'
import { type CitedPage, createKnownSources } from '../../core/view/known-sources.ts'
import { readChange } from '../../core/view/read-change.ts'
import { createShownTexts, type TextLane, textLaneOf } from '../../core/view/shown-texts.ts'
import type { VisibleEvent } from '../../core/view/visible-event.ts'

/** An event of a turn for chat protocols that only have text, tool calls, sources and files. */
export type SimplifiedEvent =
  /** The first event of every stream, also if the client connects while the turn is running. */
  | { readonly kind: 'turn.start'; readonly turnId: string }
  /** A piece of a text. `first` is true for the first piece. */
  | { readonly kind: 'text'; readonly of: TextLane; readonly id: string; readonly text: string; readonly first: boolean }
  | { readonly kind: 'text.end'; readonly of: TextLane; readonly id: string }
  | { readonly kind: 'call'; readonly callId: string; readonly toolId: string; readonly params: unknown }
  /** The first result of a call. Further results are left out, because these protocols allow only one per call. */
  | { readonly kind: 'result'; readonly callId: string; readonly text: string; readonly failed: boolean }
  | { readonly kind: 'source'; readonly page: CitedPage }
  | { readonly kind: 'file'; readonly rn: string; readonly mime: string; readonly filename: string }
  /** `stopped` means that the user stopped the turn before it had an answer. */
  | { readonly kind: 'turn.end'; readonly exitReason: string; readonly ok: boolean; readonly stopped: boolean }

/**
 * Makes a function that turns each event of a stream into simplified events. Call it with the events in order. Text comes from deltas. A
 * text that was not streamed is sent whole when its entry arrives. These protocols can not withdraw text, so a repeated text gets a
 * new id.
 */
export function createEventSimplifier(rows: Iterable<SourceRow>): (event: TurnEvent) => readonly SimplifiedEvent[] {
  const simplify = createPlacedSimplifier(rows)
  return (event) => simplify(event).map((placed) => placed.event)
}

/**
 * A simplified event and its place in its entry. The place depends on the entry only, not on what the stream has sent before. Events that
 * are added because of the state of the stream have no place: the end of a text that was open, and the start for a client that joins.
 */
interface PlacedEvent {
  readonly event: SimplifiedEvent
  readonly place?: number
}

/** Does the same as `createEventSimplifier`, and tells the place of each event. */
export function createPlacedSimplifier(rows: Iterable<SourceRow>): (event: TurnEvent) => readonly PlacedEvent[] {
  const sources = createKnownSources(rows)
  const shown = createShownTexts()
  const begunTexts = new Set<string>()
  const answeredCalls = new Set<string>()
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
    const { turn_id: turnId, iteration, attempt, delta } = event
    const of = textLaneOf(event)
    if (of === undefined) return []
    const id = `${turnId}.${iteration}.${of}.${attempt}`
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
        return [] // these protocols have no other events
    }
  }

  function eventsOfEntry(change: Change): readonly PlacedEvent[] {
    let next = 0
    return readChange(change).flatMap((visible) => {
      const events = fromVisible(visible)
      const firstOwn = events.findIndex(({ kind }) => kind !== 'text.end') // the end of an open text comes before
      const place = next
      next += visible.kind === 'sources.cited' ? visible.sids.length : 2 // also if the events are left out: a text has two, others one
      return events.map((event, at) => (at < firstOwn ? { event } : { event, place: place + at - firstOwn }))
    })
  }

  return (event) => {
    if (event.type === 'status') return []
    const events = event.type === 'entry' ? eventsOfEntry(event.change) : fromDelta(event).map((each) => ({ event: each }))
    const [first] = events
    if (started || !first) return events
    started = true
    // the client has connected while the turn was running
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
