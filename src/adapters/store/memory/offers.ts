import type { Change } from '../../../core/timeline/change.ts'
import { OFFERS_PER_READ, type OfferedEvent, type OfferOutcome, type TakenOffer } from '../../../ports/store.ts'
import { type offeredChange, offeredEvent } from '../shared/offers.ts'
import type { MemoryConversation } from './conversation.ts'

/** An offer of a conversation in memory. */
export interface MemoryOffer {
  readonly change: ReturnType<typeof offeredChange>
  /** Set when the owner has taken the offer. */
  readonly taken?: { readonly outcome: OfferOutcome; readonly at: string }
}

const openOffers = ({ offers }: MemoryConversation) => [...offers.values()].filter(({ taken }) => taken === undefined)

function countOffers(conversation: MemoryConversation): void {
  conversation.info = { ...conversation.info, offers: openOffers(conversation).length }
}

export function addOffer(conversation: MemoryConversation, change: MemoryOffer['change']): void {
  conversation.offers.set(change.event.event_id, { change })
  countOffers(conversation)
}

/** The oldest offers that were not taken, as copies, because the caller may modify them. */
export const readOpenOffers = (conversation: MemoryConversation): readonly OfferedEvent[] =>
  openOffers(conversation)
    .slice(0, OFFERS_PER_READ)
    .map(({ change }) => structuredClone(offeredEvent(change)))

export function takeOffers(conversation: MemoryConversation, takes: readonly TakenOffer[], at: string): void {
  for (const { eventId, outcome } of takes) {
    const offer = conversation.offers.get(eventId)
    if (offer && offer.taken === undefined) conversation.offers.set(eventId, { ...offer, taken: { outcome, at } })
  }
  countOffers(conversation)
}

/** Removes the offers that were taken before this time. Returns their changes. */
export function removeTakenOffers({ offers }: MemoryConversation, before: string): readonly Change[] {
  const removed = [...offers.values()].filter(({ taken }) => taken !== undefined && taken.at < before).map(({ change }) => change)
  for (const { event } of removed) offers.delete(event.event_id)
  return removed
}
