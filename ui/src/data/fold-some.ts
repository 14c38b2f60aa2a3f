import { type ConversationView, foldEvent, type TurnEvent } from 'daybook/client'

/** How many events are folded before the clock is read again. */
const eventsPerLook = 64

/** Folds events until all are folded or `isOver` returns true, and returns the events that are left. */
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
