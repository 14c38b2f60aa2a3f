import { Failure } from '../../core/failure.ts'
import { isObject } from '../../core/json.ts'
import type { Clock } from '../../ports/clock.ts'
import { type ConversationStore, OFFERS_PER_READ, type OfferedEvent } from '../../ports/store.ts'
import { cancelMessage } from './cancel-message.ts'
import type { Inbox, Replacement } from './inbox.ts'
import type { Ledger } from './ledger.ts'

interface OfferedTo {
  readonly conversationId: string
  readonly store: Pick<ConversationStore, 'readOffers'>
  readonly clock: Clock
  readonly ledger: Ledger
  readonly inbox: Inbox
}

/**
 * Makes a function that takes the offers of a conversation, in their order. This process must have claimed the conversation. The offered
 * events are then in the inbox, as if a caller in this process had sent them. If the inbox is closed meanwhile, the remaining offers stay
 * for the next owner. The first call begins with the offers in `found`, which were read after the claim.
 */
export function createOfferTaker(conversation: OfferedTo, found: readonly OfferedEvent[]): () => Promise<void> {
  let taking: Promise<void> | undefined
  let again = false
  let unread = found
  const takeAll = async () => {
    do {
      again = false
      const offers = unread
      unread = []
      await takeOffers(conversation, offers)
    } while (again)
  }
  return () => {
    again = true // a new offer may have come after the last read
    taking ??= takeAll().finally(() => {
      taking = undefined
    })
    return taking
  }
}

async function takeOffers(conversation: OfferedTo, found: readonly OfferedEvent[]): Promise<void> {
  const { conversationId, store, inbox } = conversation
  let offers = found
  while (!inbox.closed) {
    if (offers.length === 0) offers = await store.readOffers(conversationId)
    for (const offer of offers) await takeOffer(conversation, offer)
    if (offers.length < OFFERS_PER_READ) return // `watchOffers` tells about offers that come later
    offers = []
  }
}

async function takeOffer(conversation: OfferedTo, event: OfferedEvent): Promise<void> {
  const { inbox, ledger } = conversation
  try {
    if (event.kind === 'withdrawal') await takeWithdrawal(conversation, event)
    else await inbox.accept(event, 'offered')
  } catch (error) {
    if (!isRejectedEvent(error)) throw error
    // an invalid offer is marked as refused, so that the next read does not return it again
    await ledger.commit([], () => [{ eventId: event.event_id, outcome: 'refused' }])
  }
}

/** Takes a message back, as `cancelMessage` describes. */
async function takeWithdrawal({ inbox, ledger, clock }: OfferedTo, event: OfferedEvent): Promise<void> {
  const eventId = withdrawnEvent(event)
  const cancelled = eventId === undefined ? 'read' : await takeBack(eventId)
  if (cancelled === 'read' && !inbox.closed) await ledger.commit([], () => [{ eventId: event.event_id, outcome: 'refused' }])

  async function takeBack(waiting: string): Promise<'withdrawn' | 'stopped' | 'read'> {
    if (!isForUnread(event)) return cancelMessage(inbox, waiting, clock, event.event_id)
    return (await inbox.withdraw(waiting, clock.now(), event.event_id, replacementIn(event))) ? 'withdrawn' : 'read'
  }
}

/** The id of the message that a withdrawal takes back. */
const withdrawnEvent = ({ payload }: OfferedEvent): string | undefined =>
  isObject(payload) && typeof payload.event_id === 'string' ? payload.event_id : undefined

/** Whether a withdrawal is only for a message that no turn has read. */
const isForUnread = ({ payload }: OfferedEvent): boolean => isObject(payload) && payload.unread_only === true

const replacementIn = ({ payload, text }: OfferedEvent): Replacement | undefined =>
  isObject(payload) && typeof payload.replacement_id === 'string' ? { eventId: payload.replacement_id, text } : undefined

/**
 * The event that asks the owner of a conversation to take back a message that no turn has read, or to replace it. Each request has an id of
 * its own, because a message that was replaced can be replaced again.
 */
export const unreadWithdrawalOf = (eventId: string, clock: Clock, replacement?: Replacement): OfferedEvent => ({
  event_id: `withdraw-${clock.randomHex(12)}`,
  kind: 'withdrawal',
  ts: clock.now(),
  text: replacement?.text ?? '',
  payload: { event_id: eventId, unread_only: true, ...(replacement && { replacement_id: replacement.eventId }) },
})

/** The event that asks the owner of a conversation to take a message back. */
export const withdrawalOf = (eventId: string, clock: Clock): OfferedEvent => ({
  event_id: `withdraw-${eventId}`,
  kind: 'withdrawal',
  ts: clock.now(),
  text: '',
  payload: { event_id: eventId },
})

const isRejectedEvent = (error: unknown) => error instanceof Failure && (error.code === 'change.invalid' || error.code === 'blob.missing')
