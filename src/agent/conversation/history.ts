import type { Change, InboxEvent } from '../../core/timeline/change.ts'
import type { ConversationStore } from '../../ports/store.ts'

/** The journal of one turn: everything since it was opened, and the events that it took in, some of which may have come before. */
export interface TurnEntries {
  readonly changes: readonly Change[]
  readonly events: ReadonlyMap<string, InboxEvent>
}

const LOOK_BACK = 64

/** Looks back from the end of the journal, further each time: the turn that is open is the last one, however long the conversation. */
export async function entriesOfTurn(
  store: Pick<ConversationStore, 'readJournal'>,
  conversationId: string,
  lastSeq: number,
  turnId: string,
): Promise<TurnEntries> {
  for (let reach = LOOK_BACK; ; reach *= 8) {
    const after = Math.max(0, lastSeq - reach)
    const seen: Change[] = []
    for await (const { change } of store.readJournal(conversationId, { after })) seen.push(change)
    const opened = seen.findIndex((change) => change.type === 'turn.opened' && change.turn_id === turnId)
    const changes = seen.slice(Math.max(0, opened))
    const events = new Map(seen.flatMap((change) => (change.type === 'event.accepted' ? [[change.event.event_id, change.event]] : [])))
    if (after === 0 || (opened >= 0 && foldedEventIds(changes).every((id) => events.has(id)))) return { changes, events }
  }
}

const foldedEventIds = (changes: readonly Change[]): readonly string[] =>
  changes.flatMap((change) => (change.type === 'event.folded' ? change.event_ids : []))
