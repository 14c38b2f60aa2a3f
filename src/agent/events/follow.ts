import type { TurnEvent } from '../../core/event.ts'
import { endsLiveOutput } from '../../core/timeline/change.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { EventHub, PublishedEvent } from './event-hub.ts'
import { createQueue } from './queue.ts'

/** Options of `Agent.follow`. */
export interface FollowOptions {
  /** The `seq` of the last entry that the caller already has. The default 0 reads from the first entry. */
  readonly after?: number
  /** Aborting this signal ends the iteration at once. */
  readonly signal?: AbortSignal
}

/**
 * Yields every entry after a given one, then every event as it happens:
 *
 *   journal     1 2 3 … … 41
 *   subscribed              ╵in flight╵ 42 ~ ~ ~ 43 ~ …
 *   journal                 42
 *
 * Numbers are entries, and `~` are live events. First the journal is read, as fast as the reader takes the entries. Then this function
 * subscribes to the hub. It reads the journal again, so that no entry is missed that was appended meanwhile.
 * No entry is yielded twice. If the journal has the blocks of a response, the live events of this response are left out. A reader that
 * joins in the middle of an answer gets the answer from its beginning. The iteration ends when the agent is closed or the conversation is
 * deleted, after the last event was read.
 */
export async function* follow(
  conversationId: string,
  { after = 0, signal }: FollowOptions,
  hub: Pick<EventHub, 'subscribe' | 'inFlight' | 'onDeleted'>,
  store: Pick<ConversationStore, 'readJournal'>,
  agentClosed: AbortSignal,
): AsyncGenerator<TurnEvent> {
  let lastEntry = after
  let lastDecision = 0 // the `seq` of the latest entry with the blocks of a response: live events before this entry are left out
  async function* readEntries(): AsyncGenerator<TurnEvent> {
    for await (const entry of store.readJournal(conversationId, { after: lastEntry })) {
      if (signal?.aborted) return
      lastEntry = entry.seq
      if (endsLiveOutput(entry.change)) lastDecision = entry.seq
      yield { type: 'entry', ...entry }
    }
  }

  yield* readEntries()
  if (signal?.aborted) return
  const queue = createQueue<PublishedEvent>()
  for (const published of hub.inFlight(conversationId)) queue.push(published)
  const unsubscribe = hub.subscribe(conversationId, queue.push)
  const end = () => queue.close()
  const removeOnDeleted = hub.onDeleted(conversationId, end)
  for (const ending of [agentClosed, signal]) {
    if (ending?.aborted) end()
    else ending?.addEventListener('abort', end, { once: true })
  }
  try {
    yield* readEntries()
    for await (const { event, seq } of queue) {
      if (signal?.aborted) return
      if (event.type === 'entry' ? seq > lastEntry : seq >= lastDecision) yield event
    }
  } finally {
    unsubscribe()
    removeOnDeleted()
    for (const ending of [agentClosed, signal]) ending?.removeEventListener('abort', end)
  }
}
