import { type ConversationView, foldEvent, type TurnEvent } from 'daybook/client'

/** How many events are applied between two calls of `isOver`, which reads the clock. */
const eventsPerLook = 64

/** Applies events to a view until all are applied or `isOver` returns true. Returns the new view and the events that are left (`rest`). */
export function foldSome(
  events: readonly TurnEvent[],
  from: ConversationView,
  isOver: () => boolean,
): { readonly view: ConversationView; readonly rest: TurnEvent[] } {
  let view = from
  for (const [index, event] of events.entries()) {
    if (index > 0 && index % eventsPerLook === 0 && isOver()) return { view, rest: events.slice(index) }
    view = foldEvent(view, event)
  }
  return { view, rest: [] }
}

/** Whether two views differ at most in the text that is being written. */
export function onlyLiveDiffers(a: ConversationView, b: ConversationView): boolean {
  return a.lastSeq === b.lastSeq && a.turns === b.turns
}
