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
 * The hub has only the events of this process. When `store.watch` tells that another process has appended entries, or when a `seq` is left
 * out, the entries are read from the journal. The live events of other processes are not available.
 * No entry is yielded twice. If the journal has the blocks of a response, the live events of this response are left out. A reader that
 * joins in the middle of an answer gets the answer from its beginning. The iteration ends when the agent is closed or the conversation is
 * deleted, after the last event was read.
 */
export async function* follow(
  conversationId: string,
  { after = 0, signal }: FollowOptions,
  hub: Pick<EventHub, 'subscribe' | 'inFlight' | 'onDeleted' | 'entryEvent'>,
  store: Pick<ConversationStore, 'readJournal' | 'watch'>,
  agentClosed: AbortSignal,
): AsyncGenerator<TurnEvent> {
  let lastEntry = after
  let lastDecision = 0 // the `seq` of the latest entry with the blocks of a response: live events before this entry are left out
  async function* readEntries(before = Number.POSITIVE_INFINITY): AsyncGenerator<TurnEvent> {
    for await (const entry of store.readJournal(conversationId, { after: lastEntry, limit: before - lastEntry - 1 })) {
      if (signal?.aborted || entry.seq >= before) return
      lastEntry = entry.seq
      if (endsLiveOutput(entry.change)) lastDecision = entry.seq
      yield hub.entryEvent(conversationId, entry)
    }
  }

  yield* readEntries()
  if (signal?.aborted) return
  const queue = createQueue<PublishedEvent | WrittenElsewhere>()
  for (const published of hub.inFlight(conversationId)) queue.push(published)
  const unsubscribe = hub.subscribe(conversationId, queue.push)
  const unwatch = store.watch(conversationId, { onWritten: (lastSeq) => queue.push({ event: undefined, lastSeq }), onError: queue.close })
  const end = () => queue.close()
  const removeOnDeleted = hub.onDeleted(conversationId, end)
  for (const ending of [agentClosed, signal]) {
    if (ending?.aborted) end()
    else ending?.addEventListener('abort', end, { once: true })
  }
  try {
    yield* readEntries()
    for await (const item of queue) {
      if (signal?.aborted) return
      const { event } = item
      if (event === undefined) {
        if (item.lastSeq === undefined) return // the conversation was deleted
        if (item.lastSeq > lastEntry) yield* readEntries()
      } else if (event.type !== 'entry') {
        if (item.seq >= lastDecision) yield event
      } else if (event.seq > lastEntry) {
        if (event.seq > lastEntry + 1) yield* readEntries(event.seq)
        if (signal?.aborted) return
        lastEntry = event.seq
        yield event
      }
    }
  } finally {
    unsubscribe()
    unwatch()
    removeOnDeleted()
    for (const ending of [agentClosed, signal]) ending?.removeEventListener('abort', end)
  }
}

/** Tells that the journal has entries up to `lastSeq`. The hub may not have them. Undefined when the conversation was deleted. */
interface WrittenElsewhere {
  readonly event: undefined
  readonly lastSeq: number | undefined
}
