import { conversationKey, parseConversationKey } from '../../core/scope.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { isCallOf } from '../../tools/call-id.ts'
import type { Records } from '../../tools/tool.ts'

type RecordStore = Pick<ConversationStore, 'findByPath' | 'findByTurn' | 'findByCall' | 'readTurnLog' | 'readJournal'>

/** Lets tools look up blocks and calls of the whole conversation, including those of compacted turns. */
export function recordsOf(store: RecordStore, conversationId: string): Records {
  return {
    byPath: (path) => store.findByPath(conversationId, path),
    byTurn: (turnId) => store.findByTurn(conversationId, turnId),
    byCall: (callId) => store.findByCall(conversationId, callId),
    turnLog: (turnId) => store.readTurnLog(conversationId, turnId),
    inConversation: (name) => recordsOf(store, conversationKey(parseConversationKey(conversationId).scope, name)),
    async response(callId) {
      for await (const { change } of store.readJournal(conversationId, { after: 0 })) {
        if (change.type === 'response.received' && isCallOf(change.call_id, callId)) return change
      }
      return undefined
    },
  }
}

/** The entries that the open turn needs to be resumed. */
export interface TurnEntries {
  /** All changes of the conversation since the turn was opened. */
  readonly changes: readonly Change[]
  /** Inbox events by id. The map has all events that the turn has read, even those that were accepted before the turn was opened. */
  readonly events: ReadonlyMap<string, InboxEvent>
}

/**
 * How many entries are read first, from the end of the journal. If they do not contain the start of the turn, the next attempt reads eight
 * times as many.
 */
const FIRST_READ = 64

/** Reads the entries of the open turn. The journal is read from its end, so a long conversation does not make this slower. */
export async function entriesOfTurn(
  store: Pick<ConversationStore, 'readJournal'>,
  conversationId: string,
  lastSeq: number,
  turnId: string,
): Promise<TurnEntries> {
  for (let count = FIRST_READ; ; count *= 8) {
    const after = Math.max(0, lastSeq - count)
    const read: Change[] = []
    for await (const { change } of store.readJournal(conversationId, { after })) read.push(change)
    const opened = read.findIndex((change) => change.type === 'turn.opened' && change.turn_id === turnId)
    const changes = read.slice(Math.max(0, opened))
    const events = new Map(read.flatMap((change) => (change.type === 'event.accepted' ? [[change.event.event_id, change.event]] : [])))
    if (after === 0 || (opened >= 0 && foldedEventIds(changes).every((id) => events.has(id)))) return { changes, events }
  }
}

const foldedEventIds = (changes: readonly Change[]): readonly string[] =>
  changes.flatMap((change) => (change.type === 'event.folded' ? change.event_ids : []))
