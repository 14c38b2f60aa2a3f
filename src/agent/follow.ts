import type { TurnEvent } from '../core/event.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Hub, Told } from './hub.ts'
import { createQueue } from './queue.ts'

export interface FollowOptions {
  /** Entries after this one; from the beginning when not said. */
  readonly after?: number
  /** To stop at once. */
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
 * joins in the middle of an answer is told its beginning. It ends when nothing more can happen, once everything was told.
 */
export async function* follow(
  conversationId: string,
  { after = 0, signal }: FollowOptions,
  hub: Pick<Hub, 'subscribe' | 'inFlight'>,
  store: Pick<ConversationStore, 'readJournal'>,
  over: AbortSignal,
): AsyncGenerator<TurnEvent> {
  const queue = createQueue<Told>()
  for (const told of hub.inFlight(conversationId)) queue.push(told)
  const unsubscribe = hub.subscribe(conversationId, queue.push)
  const end = () => queue.close()
  for (const each of [over, signal]) {
    if (each?.aborted) end()
    else each?.addEventListener('abort', end, { once: true })
  }
  let last = after
  try {
    for await (const entry of store.readJournal(conversationId, { after })) {
      if (signal?.aborted) return
      last = entry.seq
      yield { type: 'entry', ...entry }
    }
    for await (const { event, seq } of queue) {
      if (signal?.aborted) return
      if (event.type === 'entry' ? seq > last : seq >= last) yield event
    }
  } finally {
    unsubscribe()
    for (const each of [over, signal]) each?.removeEventListener('abort', end)
  }
}
