import type { LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'
import { endsLiveOutput } from '../../core/timeline/change.ts'
import { readChange } from '../../core/view/read-change.ts'
import type { BlockEvent, HistoryEvent, ResponseEvent, TurnEnded, VisibleEvent } from '../../core/view/visible-event.ts'
import type { ConversationView, LiveLane, LiveRound, TurnView } from './conversation-view.ts'
import { newTurn, withBlockEvent } from './turn-view.ts'

/**
 * Returns the view after one more event. If the view already contains the entry, returns the view unchanged. Live text (~) stays in the
 * view until an entry with the blocks of its round arrives. In the second round below, the entry with the answer comes some time after the
 * entry with the response:
 *
 *   live     ~ ~ ~ ~ │           ~ ~ ~ ~ ~ ~ ~ ~ ~ │
 *   entries          ▼ response, call     response ▼ answer
 */
export function foldEvent(view: ConversationView, event: TurnEvent): ConversationView {
  if (event.type !== 'entry') return { ...view, live: applyLiveEvent(view.live, event) }
  if (event.seq <= view.lastSeq) return view
  const live = endsLiveOutput(event.change) ? undefined : view.live
  return { ...readChange(event.change).reduce(withVisibleEvent, { ...view, live }), lastSeq: event.seq }
}

function withVisibleEvent(view: ConversationView, event: VisibleEvent): ConversationView {
  switch (event.kind) {
    case 'turn.started':
      return changeTurn(view, event.turnId, event.ts, (turn) => turn)
    case 'turn.waiting': {
      const { turnId, ts, waits, parked } = event
      const ids = new Set(waits.map(({ wait_id }) => wait_id))
      return changeTurn(view, turnId, ts, (turn) => ({
        ...turn,
        parked,
        waits: [...turn.waits.filter(({ wait_id }) => !ids.has(wait_id)), ...waits],
      }))
    }
    case 'turn.resumed': {
      const { turnId, ts, waitIds } = event
      return changeTurn(view, turnId, ts, (turn) => ({
        ...turn,
        parked: false,
        waits: turn.waits.filter(({ wait_id }) => !waitIds.includes(wait_id)),
      }))
    }
    case 'turn.ended':
      return withTurnEnd(view, event)
    case 'response':
      return withResponse(view, event)
    case 'title':
      return { ...view, title: event.title }
    case 'sources.found':
      return { ...view, sources: new Map([...view.sources, ...event.rows.map((row) => [row.sid, row] as const)]) }
    case 'source.removed':
      return { ...view, sources: new Map([...view.sources].filter(([sid]) => sid !== event.sid)) }
    case 'message.accepted': {
      const { event_id: eventId, kind, text } = event.message
      return { ...view, waiting: [...view.waiting, { eventId, kind, text }] }
    }
    case 'messages.read':
      return { ...view, waiting: view.waiting.filter(({ eventId }) => !event.eventIds.includes(eventId)) }
    case 'history':
      return withHistory(view, event)
    case 'sources.cited': // not needed, because each answer in the view has the numbers of its sources
    case 'compaction': // not needed, because the text of the summary arrives as an event `summary`
      return view
    default:
      return withBlockOfTurn(view, event)
  }
}

function withTurnEnd(view: ConversationView, { turnId, ts, exitReason, failed }: TurnEnded): ConversationView {
  return {
    ...changeTurn(view, turnId, ts, (turn) => ({ ...turn, endedAt: ts, exitReason, failed, waits: [], parked: false })),
    live: undefined,
  }
}

/** Adds the usage of a model call to its turn. */
function withResponse(view: ConversationView, { turnId, ts, usage }: ResponseEvent): ConversationView {
  if (!usage) return view
  return changeTurn(view, turnId, ts, (turn) => ({
    ...turn,
    usage: {
      uncached: turn.usage.uncached + usage.uncached,
      cache_read: turn.usage.cache_read + usage.cache_read,
      cache_write: turn.usage.cache_write + usage.cache_write,
      output: turn.usage.output + usage.output,
      reasoning: turn.usage.reasoning + (usage.reasoning ?? 0),
    },
  }))
}

/**
 * Adds blocks that were imported, or that were inserted into an earlier turn. An import may contain turns that the view already has. For
 * such turns, only the summaries are added.
 */
function withHistory(view: ConversationView, { title, events, imported }: HistoryEvent): ConversationView {
  const known = new Set(imported ? view.turns.map(({ id }) => id) : [])
  const added = events.filter(({ kind, turnId }) => kind === 'summary' || !known.has(turnId))
  return added.reduce(withBlockOfTurn, { ...view, title: title ?? view.title })
}

const withBlockOfTurn = (view: ConversationView, event: BlockEvent): ConversationView =>
  changeTurn(view, event.turnId, event.ts, (turn) => withBlockEvent(turn, event))

/** Changes one turn, or adds a new one. The search starts at the end, because most events belong to the last turn. */
function changeTurn(view: ConversationView, id: string, ts: string, change: (turn: TurnView) => TurnView): ConversationView {
  const at = view.turns.findLastIndex((turn) => turn.id === id)
  const before = view.turns[at]
  if (!before) return { ...view, turns: [...view.turns, change(newTurn(id, ts))] }
  const after = change(before)
  return after === before ? view : { ...view, turns: view.turns.with(at, after) }
}

function applyLiveEvent(live: LiveRound | undefined, event: LaneEvent | StatusEvent): LiveRound {
  const round = roundOf(live, event)
  if (event.type === 'lane.delta') return { ...round, lanes: withDelta(round.lanes, event) }
  const { error } = event
  const status = event.status === 'tool.progress' ? 'tool.started' : event.status
  const running = runningAfter(round.running, event)
  const last = running.at(-1)
  return { ...round, status: status === 'tool.ended' && last ? 'tool.started' : status, toolId: last?.toolId, running, error }
}

/** The calls whose tools run after a status. A status without a call, such as `deciding`, means that no tool runs. */
function runningAfter(
  running: LiveRound['running'],
  { status, tool_id: toolId, call_id: callId, text: progress }: StatusEvent,
): LiveRound['running'] {
  if (toolId === undefined || callId === undefined) return []
  if (status === 'tool.progress') return running.map((call) => (call.callId === callId ? { ...call, progress } : call))
  const others = running.filter((call) => call.callId !== callId)
  return status === 'tool.started' ? [...others, { callId, toolId }] : others
}

function roundOf(live: LiveRound | undefined, event: LaneEvent | StatusEvent): LiveRound {
  const { turn_id: turnId, iteration } = event
  const attempt = event.type === 'lane.delta' ? event.attempt : undefined
  const same = live?.turnId === turnId && live.iteration === iteration
  if (same && (attempt === undefined || attempt === live.attempt)) return live
  const status = same ? live.status : undefined
  return { turnId, iteration, attempt: attempt ?? 0, status, toolId: undefined, running: [], error: undefined, lanes: [] }
}

/**
 * Appends a delta to its lane. A delta with the index 0 replaces the text of the lane. If the last delta of an answer has `as: 'notes'`,
 * its lane becomes a lane of notes. After a reconnect the server sends the text again. The new lane of notes then replaces the lane of
 * notes from before the reconnect.
 */
function withDelta(lanes: readonly LiveLane[], { iteration, delta }: LaneEvent): readonly LiveLane[] {
  const { marker, artifact_name: artifactName, format, index, text, completed } = delta
  const at = lanes.findIndex((lane) => lane.marker === marker && lane.artifactName === artifactName && lane.format === format)
  const before = index === 0 ? '' : (lanes[at]?.text ?? '')
  const kind = delta.as === 'notes' ? notesLane(iteration) : { marker, artifactName }
  const lane = { ...kind, format, text: before + text, completed }
  const known =
    delta.as === 'notes' ? lanes.findIndex((each) => each.marker === lane.marker && each.artifactName === lane.artifactName) : -1
  if (known >= 0) return lanes.with(known, lane).filter((_, index) => index !== at)
  return at < 0 ? [...lanes, lane] : lanes.with(at, lane)
}

const notesLane = (iteration: number) => ({ marker: 'timeline_text', artifactName: `timeline_text.react.decision.${iteration}` })
