import { Failure } from '../../core/failure.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import { isKnownEvent, type Timeline, waitingFollowups } from '../../core/timeline/timeline.ts'
import type { Clock } from '../../ports/clock.ts'
import { attachmentBlobs, attachmentsIn } from '../turn/attachments.ts'
import type { TurnInput, TurnStart } from '../turn/start.ts'
import { optionsIn } from '../turn/turn-options.ts'
import type { StartReason } from './context.ts'
import type { NewEvent } from './inbox.ts'

/** A message or an event for a conversation. If the conversation is not running, the message or event starts it. */
export type DeliveryReason = Exclude<StartReason, { readonly kind: 'unfinished' }>

/** The event to put into the inbox when the conversation is running or a dead process left work in it. A message becomes a followup. */
export function eventFor(reason: DeliveryReason, clock: Clock): NewEvent {
  if (reason.kind === 'event') return reason.event
  const { text, attachments, eventId, options } = reason.input
  const payload = { ...(attachments.length > 0 && { attachments }), ...(options && { options: options.stored }) }
  return {
    event_id: eventId ?? clock.randomHex(12),
    kind: 'followup',
    ts: clock.now(),
    text,
    ...(Object.keys(payload).length > 0 && { payload }),
    ...(attachments.length > 0 && { keeps: attachmentBlobs(attachments) }),
  }
}

/** The message of a followup that starts a turn. */
export function inputOf(event: InboxEvent): TurnInput {
  const options = optionsIn(event)
  return { text: event.text, attachments: attachmentsIn(event), eventId: event.event_id, ...(options && { options }) }
}

export const missingConversation = (conversationId: string) =>
  new Failure('conversation.missing', `there is no conversation ${conversationId}`)

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
