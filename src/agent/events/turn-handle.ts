import type { TurnEvent } from '../../core/event.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { TurnResult } from '../turn/finish.ts'
import type { EventHub, PublishedEvent } from './event-hub.ts'
import { createQueue } from './queue.ts'

/** The events of a turn as they happen, and what came of it. Both can be had, in any order, or neither: the turn runs on. */
export interface TurnHandle extends AsyncIterable<TurnEvent> {
  readonly result: Promise<TurnResult>
}

/**
 * Until somebody looks nothing is kept but where to begin: entries are in the journal, and what was only live is in them in the end.
 * Whoever looks late is told the entries so far, then the beginning of what is being said, then all that follows.
 *
 *   unread    7 8 9 … 41                    read from the journal, at the reader's pace
 *   queue                ~ ~ 42 ~ ~ ~ 43 …   from the moment that somebody looks
 */
export function openTurnHandle(
  conversationId: string,
  begin: () => Promise<TurnResult>,
  hub: Pick<EventHub, 'subscribe' | 'inFlight'>,
  store: Pick<ConversationStore, 'readJournal'>,
): TurnHandle {
  const queue = createQueue<TurnEvent>(() => unsubscribe())
  const push = ({ event }: PublishedEvent) => queue.push(event)
  const unread = { after: -1, last: -1 }
  let over = false
  let looked = false
  let unsubscribe = hub.subscribe(
    conversationId,
    ({ seq }) => {
      if (unread.last === -1) unread.after = seq - 1
      unread.last = seq
    },
    'entries',
  )
  const result = begin()
  const end = (failure?: unknown) => {
    over = true
    unsubscribe()
    queue.close(failure) // whoever only watches is told of it, too
  }
  result.then(() => end(), end)

  async function* fromTheJournal(live: AsyncIterator<TurnEvent>): AsyncGenerator<TurnEvent> {
    try {
      for await (const { seq, change } of store.readJournal(conversationId, { after: unread.after })) {
        if (seq > unread.last) break
        unread.after = seq
        yield { type: 'entry', seq, change }
      }
      unread.after = unread.last // whatever was let go meanwhile
      for (let next = await live.next(); !next.done; next = await live.next()) yield next.value
    } finally {
      await live.return?.()
    }
  }

  return {
    result,
    [Symbol.asyncIterator]() {
      unsubscribe()
      if (!over) {
        if (!looked) for (const told of hub.inFlight(conversationId)) push(told)
        looked = true
        unsubscribe = hub.subscribe(conversationId, push)
      }
      const live = queue[Symbol.asyncIterator]()
      return unread.after < unread.last ? fromTheJournal(live) : live
    },
  }
}
