import { Failure } from '../../../core/failure.ts'
import type { Change } from '../../../core/timeline/change.ts'
import type { OfferedEvent, OfferListener } from '../../../ports/store.ts'
import { validateChange } from './validation/validate.ts'

type EventAccepted = Extract<Change, { readonly type: 'event.accepted' }>

/**
 * Checks an event and returns the change that stores save for its offer. The sequence number is 0, because the event gets its number when
 * it is accepted. Throws `change.invalid`.
 */
export function offeredChange(event: OfferedEvent): EventAccepted {
  // `validateChange` keeps the type of the change
  const change = validateChange({ type: 'event.accepted', event: { ...event, sequence: 0 } }) as EventAccepted
  const { event_id: id } = change.event
  if (id !== '' && id.isWellFormed()) return change
  throw new Failure('change.invalid', `the id of an offered event must be well-formed text and not empty, but it is ${JSON.stringify(id)}`)
}

/** The event of a change that `offeredChange` has made. */
export function offeredEvent({ event: { sequence: _none, ...event } }: EventAccepted): OfferedEvent {
  return event
}

/** The listeners of `store.watchOffers`. */
export function createOfferListeners() {
  const listeners = new Set<OfferListener>()
  return {
    get size() {
      return listeners.size
    },
    add(listener: OfferListener): () => void {
      const own = { ...listener } // a copy, because the set would keep a listener that is added twice only once
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    tell(conversationId: string): void {
      for (const { onOffered } of listeners) onOffered(conversationId)
    },
    fail(error: unknown): void {
      for (const { onError } of listeners) onError(error)
    },
    clear: () => listeners.clear(),
  }
}
