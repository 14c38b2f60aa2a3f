import { isKnownEvent, type Timeline, waitingFollowups } from '../../core/timeline/timeline.ts'
import type { Clock } from '../../ports/clock.ts'
import type { TurnStart } from '../turn/start.ts'
import type { StartReason } from './context.ts'
import type { NewEvent } from './inbox.ts'
import { eventFor, inputOf } from './start-reason.ts'

export function hasNothingToDo(reason: StartReason, timeline: Timeline): boolean {
  if (findUnfinished(timeline)) return false
  if (reason.kind === 'unfinished') return true
  const eventId = reason.kind === 'event' ? reason.event.event_id : reason.input.eventId
  return eventId !== undefined && isKnownEvent(timeline, eventId)
}

/**
 * Finds work that a dead process left: an open turn, which is resumed, or else the oldest waiting followup, for which a turn is started.
 */
function findUnfinished(timeline: Timeline): TurnStart | undefined {
  if (timeline.openTurn) return { kind: 'unfinished' }
  const [oldest] = waitingFollowups(timeline)
  return oldest && { kind: 'message', input: inputOf(oldest) }
}

export const newTurnId = (clock: Clock) => `turn_${Date.parse(clock.now())}_${clock.randomHex(6)}`

/**
 * Decides which turn runs first: an unfinished turn or waiting followup, or else a turn for the new message. If there is only an event, no
 * turn runs. The returned `event` must be put into the inbox before the turn starts.
 */
export function firstTurn(
  timeline: Timeline,
  reason: StartReason,
  clock: Clock,
): { readonly start?: TurnStart; readonly event?: NewEvent } {
  const unfinished = findUnfinished(timeline)
  const start = unfinished ? { start: unfinished } : {}
  switch (reason.kind) {
    case 'message':
      return unfinished ? { ...start, event: eventFor(reason, clock) } : { start: reason }
    case 'event':
      return { ...start, event: reason.event }
    case 'unfinished':
      return start
    default:
      return reason satisfies never
  }
}
