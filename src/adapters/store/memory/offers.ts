import type { Change } from '../../../core/timeline/change.ts'
import { OFFERS_PER_READ, type OfferedEvent, type OfferOutcome, type TakenOffer } from '../../../ports/store.ts'
import { type offeredChange, offeredEvent } from '../shared/offers.ts'
import { noAttempts } from '../shared/work.ts'
import type { MemoryConversation } from './conversation.ts'

/** An offer of a conversation in memory. */
export interface MemoryOffer {
  readonly change: ReturnType<typeof offeredChange>
  /** Set when the owner has taken the offer. */
  readonly taken?: { readonly outcome: OfferOutcome; readonly at: string }
}

function countOpenOffers(conversation: MemoryConversation): void {
  conversation.info = { ...conversation.info, offers: conversation.openOffers.size }
}

/** Adds an offer. From then on, the conversation can be claimed without a pause, even if earlier attempts failed. */
export function addOffer(conversation: MemoryConversation, change: MemoryOffer['change'], now: string): void {
  conversation.offeredAt ??= now
  conversation.attempts = noAttempts
  conversation.offers.set(change.event.event_id, { change })
  conversation.openOffers.add(change.event.event_id)
  countOpenOffers(conversation)
}

/** The oldest offers that were not taken, as copies, because the caller may modify them. */
export function readOpenOffers({ offers, openOffers }: MemoryConversation): readonly OfferedEvent[] {
  const found: OfferedEvent[] = []
  for (const eventId of openOffers) {
    const offer = offers.get(eventId)
    if (offer) found.push(structuredClone(offeredEvent(offer.change)))
    if (found.length === OFFERS_PER_READ) break
  }
  return found
}

export function takeOffers(conversation: MemoryConversation, takes: readonly TakenOffer[], at: string): void {
  for (const { eventId, outcome } of takes) {
    const offer = conversation.offers.get(eventId)
    if (offer && conversation.openOffers.delete(eventId)) conversation.offers.set(eventId, { ...offer, taken: { outcome, at } })
  }
  countOpenOffers(conversation)
  if (conversation.openOffers.size === 0) conversation.offeredAt = null
}

/** Removes the offers that were taken before this time. Returns their changes. */
export function removeTakenOffers({ offers }: MemoryConversation, before: string): readonly Change[] {
  const removed = [...offers.values()].filter(({ taken }) => taken !== undefined && taken.at < before).map(({ change }) => change)
  for (const { event } of removed) offers.delete(event.event_id)
  return removed
}
