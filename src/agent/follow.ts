import type { TurnEvent } from '../core/event.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Hub, Told } from './hub.ts'
import { createQueue } from './queue.ts'

export interface FollowOptions {
  /** Entries after this one; from the beginning when not said. */
  readonly after?: number
  readonly signal?: AbortSignal
}

/**
 * Everything after a given entry, then everything that happens. Listening begins before the journal is read, so nothing falls
 * between the two:
 *
 *   journal   1 2 3 … … … 41 42
 *   listening              ╵in flight╵ 42 ~ ~ ~ 43 ~ …
 *
 * What was read in the journal is not told again; neither is what was said live before the last entry that was read. Whoever
 * joins in the middle of an answer is told its beginning.
 */
export async function* follow(
  conversationId: string,
  { after = 0, signal }: FollowOptions,
  hub: Pick<Hub, 'subscribe' | 'inFlight'>,
  store: Pick<ConversationStore, 'readJournal'>,
): AsyncGenerator<TurnEvent> {
  const queue = createQueue<Told>()
  for (const told of hub.inFlight(conversationId)) queue.push(told)
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
    for await (const { event, seq } of queue) {
      if (event.type === 'entry' ? seq > last : seq >= last) yield event
      if (signal?.aborted) return
    }
  } finally {
    unsubscribe()
    signal?.removeEventListener('abort', stop)
  }
}
