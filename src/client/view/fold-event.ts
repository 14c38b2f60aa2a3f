import type { Block } from '../../core/block/index.ts'
import type { LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'
import { blocksOfChange, type Change, type ResponseReceived } from '../../core/timeline/change.ts'
import type { ConversationView, LiveLane, LiveRound, TurnView } from './conversation-view.ts'
import { newTurn, withBlock } from './turn-view.ts'

/**
 * The view after one more event. Entries are durable and may be repeated; live text is shown beside them until its entry comes:
 *
 *   live     ~ ~ ~ ~ │           ~ ~ ~ │
 *   entries          ▼ response, call  ▼ response, answer
 */
export function foldEvent(view: ConversationView, event: TurnEvent): ConversationView {
  if (event.type !== 'entry') return { ...view, live: applyLiveEvent(view.live, event) }
  if (event.seq <= view.lastSeq) return view
  return { ...withChange(view, event.change), lastSeq: event.seq }
}

function withChange(view: ConversationView, change: Change): ConversationView {
  switch (change.type) {
    case 'turn.opened':
      return changeTurn(view, change.turn_id, change.ts, (turn) => turn)
    case 'turn.closed': {
      const closed = changeTurn(view, change.turn_id, change.ts, (turn) => ({
        ...turn,
        endedAt: change.ts,
        exitReason: change.exit_reason,
      }))
      return { ...closed, live: undefined }
    }
    case 'response.received':
      return withResponse(view, change)
    case 'blocks.appended':
    case 'blocks.inserted':
      return change.blocks.reduce(withBlockOfTurn, view)
    case 'range.compacted': // the summarised turns stay visible to people
      return change.blocks.filter(({ type }) => type === 'conv.range.summary').reduce(withBlockOfTurn, view)
    case 'timeline.imported':
      return blocksOfChange(change).reduce(withBlockOfTurn, { ...view, title: change.timeline.conversation_title ?? view.title })
    case 'sources.merged':
      return { ...view, sources: new Map([...view.sources, ...change.rows.map((row) => [row.sid, row] as const)]) }
    case 'source.removed':
      return { ...view, sources: new Map([...view.sources].filter(([sid]) => sid !== change.sid)) }
    case 'title.set':
      return { ...view, title: change.title }
    case 'event.accepted': {
      const { event_id: eventId, kind, text } = change.event
      return { ...view, waiting: [...view.waiting, { eventId, kind, text }] }
    }
    case 'event.folded':
      return { ...view, waiting: view.waiting.filter(({ eventId }) => !change.event_ids.includes(eventId)) }
    case 'blocks.hidden':
    case 'blocks.revealed':
    case 'sources.used':
    case 'feedback.seen':
      return view // these change only what the model sees
    default:
      return change satisfies never
  }
}

/** The entry of a round ends its live text: both are in the same commit. */
function withResponse(view: ConversationView, { turn_id, ts, role, usage }: ResponseReceived): ConversationView {
  const live = role === undefined ? undefined : view.live
  if (!usage) return { ...view, live }
  const billed = changeTurn(view, turn_id, ts, (turn) => ({
    ...turn,
    usage: {
      uncached: turn.usage.uncached + usage.uncached,
      cache_read: turn.usage.cache_read + usage.cache_read,
      cache_write: turn.usage.cache_write + usage.cache_write,
      output: turn.usage.output + usage.output,
      reasoning: turn.usage.reasoning + (usage.reasoning ?? 0),
    },
  }))
  return { ...billed, live }
}

const withBlockOfTurn = (view: ConversationView, block: Block): ConversationView =>
  changeTurn(view, block.turn_id, block.ts, (turn) => withBlock(turn, block))

/** Searches from the end, because it is nearly always the last turn. */
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
  const { status, tool_id: toolId, error } = event
  return { ...round, status, toolId: status === 'tool.ended' ? undefined : toolId, error }
}

function roundOf(live: LiveRound | undefined, event: LaneEvent | StatusEvent): LiveRound {
  const { turn_id: turnId, iteration } = event
  const attempt = event.type === 'lane.delta' ? event.attempt : undefined
  const same = live?.turnId === turnId && live.iteration === iteration
  if (same && (attempt === undefined || attempt === live.attempt)) return live
  const status = same ? live.status : undefined
  return { turnId, iteration, attempt: attempt ?? 0, status, toolId: undefined, error: undefined, lanes: [] }
}

/** Index 0 restarts a lane. */
function withDelta(lanes: readonly LiveLane[], { delta }: LaneEvent): readonly LiveLane[] {
  const { marker, artifactName, format, index, text, completed } = delta
  const at = lanes.findIndex((lane) => lane.marker === marker && lane.artifactName === artifactName && lane.format === format)
  const before = index === 0 ? '' : (lanes[at]?.text ?? '')
  const lane = { marker, artifactName, format, text: before + text, completed }
  return at < 0 ? [...lanes, lane] : lanes.with(at, lane)
}
