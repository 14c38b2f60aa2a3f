import type { TurnEvent } from '../core/event.ts'
import type { ConversationStore } from '../ports/store.ts'
import { createEventQueue, type Hub } from './hub.ts'

export interface FollowOptions {
  /** Entries after this one; from the beginning when not said. */
  readonly after?: number
  readonly signal?: AbortSignal
}

/**
 * Everything after a given entry, then everything that happens. Listening begins before the journal is read, so nothing falls
 * between the two; what was seen in the journal is not told again.
 */
export async function* follow(
  conversationId: string,
  { after = 0, signal }: FollowOptions,
  hub: Hub,
  store: Pick<ConversationStore, 'readJournal'>,
): AsyncGenerator<TurnEvent> {
  const queue = createEventQueue()
  const unsubscribe = hub.subscribe(conversationId, queue.push)
  const stop = () => queue.close()
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop, { once: true })
  let last = after
  try {
    for await (const entry of store.readJournal(conversationId, { after })) {
      if (signal?.aborted) return
      last = entry.seq
      yield { type: 'entry', ...entry }
    }
    for await (const event of queue) {
      if (event.type === 'entry' && event.seq <= last) continue
      yield event
    }
  } finally {
    unsubscribe()
    signal?.removeEventListener('abort', stop)
  }
}
