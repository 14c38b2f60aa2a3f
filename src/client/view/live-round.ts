import type { LaneEvent, StatusEvent } from '../../core/event.ts'
import type { LiveLane, LiveRound } from './conversation-view.ts'

/** What is being written, one more piece of it. */
export function applyLiveEvent(live: LiveRound | undefined, event: LaneEvent | StatusEvent): LiveRound {
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

/** Index 0 starts a lane anew. */
function withDelta(lanes: readonly LiveLane[], { delta }: LaneEvent): readonly LiveLane[] {
  const { marker, artifactName, format, index, text, completed } = delta
  const at = lanes.findIndex((lane) => lane.marker === marker && lane.artifactName === artifactName && lane.format === format)
  const before = index === 0 ? '' : (lanes[at]?.text ?? '')
  const lane = { marker, artifactName, format, text: before + text, completed }
  return at < 0 ? [...lanes, lane] : lanes.with(at, lane)
}
