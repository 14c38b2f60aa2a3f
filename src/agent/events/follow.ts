import type { TurnEvent } from '../../core/event.ts'
import { endsLiveOutput } from '../../core/timeline/change.ts'
import { pausesTurn } from '../../core/timeline/waits.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { EventHub, LivePosition, PublishedEvent } from './event-hub.ts'
import { createQueue } from './queue.ts'
import type { RemoteEvents } from './relay/on-demand.ts'
import type { RemoteFollower } from './relay/receiver.ts'

/** Options of `Agent.follow`. */
export interface FollowOptions {
  /** The `seq` of the last entry that the caller already has. The default 0 reads from the first entry. */
  readonly after?: number
  /** Aborting this signal ends the iteration, even if events are still waiting. */
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
 * The journal is read only as fast as the reader takes the entries. The hub has only the events of this process. If `store.watch` tells
 * that another process has appended entries, or if the queue lacks a `seq`, the missing entries are read from the journal. The live events
 * of other processes arrive through the relay of the store, if the store has a relay. A live event may arrive before the entries that
 * precede it. These entries are then read first. No entry is yielded twice. When the journal has the blocks of a response, the live events
 * of this response are left out. A reader that joins in the middle of an answer gets the answer from its beginning. The iteration ends when
 * the agent is closed or the conversation is deleted, after the last event was read.
 */
export async function* follow(
  conversationId: string,
  { after = 0, signal }: FollowOptions,
  hub: Pick<EventHub, 'subscribe' | 'inFlight' | 'onDeleted' | 'entryEvent'>,
  store: Pick<ConversationStore, 'readJournal' | 'watch'>,
  agentClosed: AbortSignal,
  remote?: RemoteEvents,
): AsyncGenerator<TurnEvent> {
  let lastEntry = after
  let isTurnOpen = true // assumed, because it is not known whether a turn was open at the entry `after`
  let lastLive: LivePosition = { epoch: 0, number: 0 }
  let elsewhere: RemoteFollower | undefined
  // The `seq` of the latest entry with the blocks of a response. The live events of that response belong before this entry and are left
  // out.
  let lastDecision = 0
  async function* readEntries(before = Number.POSITIVE_INFINITY): AsyncGenerator<TurnEvent> {
    for await (const entry of store.readJournal(conversationId, { after: lastEntry, limit: before - lastEntry - 1, passNewer: true })) {
      if (signal?.aborted || entry.seq >= before) return
      lastEntry = entry.seq
      isTurnOpen = !pausesTurn(entry.change)
      if (endsLiveOutput(entry.change)) lastDecision = entry.seq
      elsewhere?.onEntry(entry)
      yield hub.entryEvent(conversationId, entry)
    }
  }

  yield* readEntries()
  const relay = await remote?.open()
  if (signal?.aborted) return
  const queue = createQueue<PublishedEvent | WrittenElsewhere>()
  for (const published of hub.inFlight(conversationId)) queue.push(published)
  const unsubscribe = hub.subscribe(conversationId, queue.push)
  const unwatch = store.watch(conversationId, { onWritten: (lastSeq) => queue.push({ event: undefined, lastSeq }), onError: queue.close })
  elsewhere = relay?.join(conversationId, { after: lastEntry, active: isTurnOpen }, queue.push)
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
      if (item.event === undefined) {
        if (item.lastSeq === undefined) return // the conversation was deleted
        if (item.lastSeq > lastEntry) yield* readEntries()
      } else if ('number' in item) {
        if (!isLater(item, lastLive)) continue // the event came twice, or from a process that has lost the conversation
        lastLive = item
        if (item.seq > lastEntry && relay) yield* readEntries()
        if (signal?.aborted) return
        if (item.seq >= lastDecision) yield item.event
      } else if (item.seq > lastEntry) {
        const { event } = item
        if (event.seq > lastEntry + 1) yield* readEntries(event.seq)
        if (signal?.aborted) return
        lastEntry = event.seq
        // Live events that another process sent before this entry, but that arrive after it, are left out.
        if (elsewhere && endsLiveOutput(event.change)) lastDecision = event.seq
        elsewhere?.onEntry(event)
        yield event
      }
    }
  } finally {
    unsubscribe()
    unwatch()
    elsewhere?.leave()
    removeOnDeleted()
    for (const ending of [agentClosed, signal]) ending?.removeEventListener('abort', end)
  }
}

const isLater = (one: LivePosition, other: LivePosition): boolean =>
  one.epoch > other.epoch || (one.epoch === other.epoch && one.number > other.number)

/**
 * The message of `store.watch`: the journal has entries up to `lastSeq`. Another process may have appended them, so the hub may not have
 * sent them. `lastSeq` is undefined when the conversation was deleted.
 */
interface WrittenElsewhere {
  readonly event: undefined
  readonly lastSeq: number | undefined
}
