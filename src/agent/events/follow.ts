import type { TurnEvent } from '../../core/event.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { type EventHub, isDecisionEntry, type PublishedEvent } from './event-hub.ts'
import { createQueue } from './queue.ts'

export interface FollowOptions {
  /** Entries after this one; from the beginning when not said. */
  readonly after?: number
  /** To stop at once. */
  readonly signal?: AbortSignal
}

/**
 * Everything after a given entry, then everything that happens:
 *
 *   the past    1 2 3 … … 41
 *   listening               ╵in flight╵ 42 ~ ~ ~ 43 ~ …
 *   the gap                 42
 *
 * The past is read before anybody listens, at the reader's pace. Then listening begins, and what was entered meanwhile is read, so
 * nothing falls between the two. What was read is not told again; neither is what was live and has been entered since. Whoever joins in
 * the middle of an answer is told its beginning. It ends when nothing more can happen (the agent or the conversation is no more), once everything was told.
 */
export async function* follow(
  conversationId: string,
  { after = 0, signal }: FollowOptions,
  hub: Pick<EventHub, 'subscribe' | 'inFlight' | 'onDeleted'>,
  store: Pick<ConversationStore, 'readJournal'>,
  over: AbortSignal,
): AsyncGenerator<TurnEvent> {
  let last = after
  let heard = 0 // the latest decision that was read: what was live before it has been told
  async function* entries(): AsyncGenerator<TurnEvent> {
    for await (const entry of store.readJournal(conversationId, { after: last })) {
      if (signal?.aborted) return
      last = entry.seq
      if (isDecisionEntry(entry)) heard = entry.seq
      yield { type: 'entry', ...entry }
    }
  }

  yield* entries()
  if (signal?.aborted) return
  const queue = createQueue<PublishedEvent>()
  for (const told of hub.inFlight(conversationId)) queue.push(told)
  const unsubscribe = hub.subscribe(conversationId, queue.push)
  const end = () => queue.close()
  const stay = hub.onDeleted(conversationId, end)
  for (const each of [over, signal]) {
    if (each?.aborted) end()
    else each?.addEventListener('abort', end, { once: true })
  }
  try {
    yield* entries()
    for await (const { event, seq } of queue) {
      if (signal?.aborted) return
      if (event.type === 'entry' ? seq > last : seq >= heard) yield event
    }
  } finally {
    unsubscribe()
    stay()
    for (const each of [over, signal]) each?.removeEventListener('abort', end)
  }
}
