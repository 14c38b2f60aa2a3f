import type { Clock } from '../../ports/clock.ts'
import type { Inbox } from './inbox.ts'

/** The error for the caller of `run` whose message was taken back. */
export function cancelledError(how: 'withdrawn' | 'read', cause: unknown): Error {
  const message =
    how === 'withdrawn' ? 'The message was withdrawn: no turn reads it.' : 'The message is already part of a turn. That turn continues.'
  return Object.assign(new DOMException(message, 'AbortError'), { cause })
}

/**
 * Takes a message back. `eventId` is undefined for a message that has started the first turn of a running conversation. There are three
 * cases:
 * - `withdrawn`: the message waited as a followup and is removed from the inbox.
 * - `stopped`: a turn began with the message, and this turn is stopped. If the turn is about to start, the function waits for its start.
 * - `read`: a turn of another message has read the message. That turn continues.
 *
 * If another process asks to take the message back, `withdrawalId` is the id of its offer. The offer is taken in the same commit.
 */
export async function cancelMessage(
  inbox: Inbox,
  eventId: string | undefined,
  clock: Clock,
  withdrawalId?: string,
): Promise<'withdrawn' | 'stopped' | 'read'> {
  const isFollowup = eventId !== undefined
  if (isFollowup && (await inbox.withdraw(eventId, clock.now(), withdrawalId))) return 'withdrawn'
  if (isFollowup && inbox.openingEvent !== eventId && !inbox.closed) return 'read'
  const stop = () => ({ event_id: withdrawalId ?? clock.randomHex(12), kind: 'steer' as const, ts: clock.now(), text: '' })
  const offered = withdrawalId === undefined ? undefined : 'offered'
  while (inbox.openingEvent === eventId && !inbox.closed) {
    if (inbox.currentTurn === undefined) await inbox.untilTurnStarts()
    else if (await inbox.accept(stop(), offered)) break
  }
  return 'stopped'
}
