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
 * Yields every entry after the entry `after`, then every event as it happens. In this example, numbers are entries and `~` are live events:
 *
 *   1. read the journal         1 2 3 … 41
 *   2. subscribe to the hub                   43 ~ ~ 44 ~ …   these events wait in a queue, behind the live events of the current response
 *   3. read the journal again              42 43              entry 42 was appended between step 1 and step 2
 *   4. yield the queue                           ~ ~ 44 ~ …   without entry 43, which step 3 has already yielded
 *
 * The journal is read as fast as the reader takes the entries.
 * The hub has only the events of this process. If `store.watch` tells that another process has appended entries, or if the queue lacks a
 * `seq`, the missing entries are read from the journal. The live events of other processes are not available.
 * No entry is yielded twice. If the journal has the blocks of a response, the live events of this response are left out. A reader that
 * joins in the middle of an answer gets the answer from its beginning.
 * The iteration ends when the agent is closed or the conversation is deleted, after the last event was read.
 */
export async function* follow(
  conversationId: string,
  { after = 0, signal }: FollowOptions,
  hub: Pick<EventHub, 'subscribe' | 'inFlight' | 'onDeleted' | 'entryEvent'>,
  store: Pick<ConversationStore, 'readJournal' | 'watch'>,
  agentClosed: AbortSignal,
): AsyncGenerator<TurnEvent> {
  let lastEntry = after
  // the `seq` of the latest entry with the blocks of a response. The live events of that response came before it and are left out
  let lastDecision = 0
  async function* readEntries(before = Number.POSITIVE_INFINITY): AsyncGenerator<TurnEvent> {
    for await (const entry of store.readJournal(conversationId, { after: lastEntry, limit: before - lastEntry - 1, passNewer: true })) {
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

/**
 * The message of `store.watch`: the journal has entries up to `lastSeq`. Another process may have appended them, so the hub may not have
 * sent them. `lastSeq` is undefined when the conversation was deleted.
 */
interface WrittenElsewhere {
  readonly event: undefined
  readonly lastSeq: number | undefined
}
