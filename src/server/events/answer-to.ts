import type { TurnEvent } from '../../core/event.ts'

/**
 * Of everything that happens in a conversation, the turn that takes a message in, from there to its end. A message to a busy
 * conversation may have to wait for the turn that is running.
 */
export async function* eventsOfTurn(events: AsyncIterable<TurnEvent>, eventId: string): AsyncGenerator<TurnEvent> {
  let opened: TurnEvent | undefined
  let turnId: string | null | undefined
  for await (const event of events) {
    const change = event.type === 'entry' ? event.change : undefined
    if (turnId === undefined) {
      if (change?.type === 'turn.opened') opened = event
      if (change?.type !== 'event.folded' || !change.event_ids.includes(eventId)) continue
      turnId = change.turn_id
      if (turnId === null) return // set aside: nobody answers it
      if (opened?.type === 'entry' && opened.change.type === 'turn.opened' && opened.change.turn_id === turnId) yield opened
    }
    yield event
    if (change?.type === 'turn.closed' && change.turn_id === turnId) return
  }
}
