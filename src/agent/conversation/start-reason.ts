import { Failure } from '../../core/failure.ts'
import type { InboxEvent } from '../../core/timeline/change.ts'
import type { Clock } from '../../ports/clock.ts'
import { attachmentBlobs, attachmentsIn } from '../turn/attachments.ts'
import type { TurnInput } from '../turn/start.ts'
import { optionsIn } from '../turn/turn-options.ts'
import type { StartReason } from './context.ts'
import type { NewEvent } from './inbox.ts'

/** A message or an event for a conversation. If the conversation is not running, it starts the conversation. */
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
