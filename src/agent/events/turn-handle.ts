import type { TurnEvent } from '../../core/event.ts'
import { createOutputReader } from '../../core/stream/json/partial.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { TurnResult } from '../turn/result.ts'
import { addEntry, type EntryRange, type EventHub, type PublishedEvent } from './event-hub.ts'
import { createQueue } from './queue.ts'

/** A running turn. Iterate over it to get its events, await `result`, or do both. The turn runs even if no caller iterates or awaits. */
export interface TurnHandle<Output = unknown> extends AsyncIterable<TurnEvent> {
  readonly result: Promise<TurnResult<Output>>
  /**
   * Yields the output of a turn with an output schema while the model writes it. The yielded object is modified later: copy it if you want
   * to keep it. It is checked only when it is complete, so it may have fields that the output will not have. A caller that uses this
   * function must not also iterate over the events.
   */
  partialOutput(): AsyncIterable<PartialOutput<Output>>
}

/** A value that is not complete yet: some of its parts are missing. */
export type PartialOutput<T> = T extends readonly (infer Item)[]
  ? readonly PartialOutput<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: PartialOutput<T[Key]> }
    : T

/**
 * Passes events to the reader of a handle. It is used for a turn that another process runs, because the hub does not have the events of
 * that turn.
 */
export interface FeedHandle {
  /**
   * From now on, events come only from `push`. Returns the `seq` of the last entry that the handle has got from the hub, or undefined if it
   * has got no entry.
   */
  begin(): number | undefined
  push(event: TurnEvent): void
}

/**
 * Opens a turn handle. The events come from the hub. After `start` has called `begin`, they come from `start`. Before the first iteration,
 * the handle keeps no events. It keeps only the range of the entries that were not read yet. A reader that starts late gets these entries
 * from the journal, then the live events of the current response, then all later events.
 *
 *   unread    7 8 9 … 41                    read from the journal, as fast as the reader takes the entries
 *   queue                ~ ~ 42 ~ ~ ~ 43 …   filled from the first iteration on. Numbers are entries, `~` are live events
 */
export function openTurnHandle(
  conversationId: string,
  start: (feed: FeedHandle) => Promise<TurnResult>,
  hub: Pick<EventHub, 'subscribe' | 'noteEntries' | 'inFlight'>,
  store: Pick<ConversationStore, 'readJournal'>,
): TurnHandle {
  const queue = createQueue<TurnEvent>(() => unsubscribe())
  let lastSeq: number | undefined
  const push = ({ event }: PublishedEvent) => {
    if (event.type === 'entry') lastSeq = event.seq
    queue.push(event)
  }
  const unread: EntryRange = { after: -1, last: -1 }
  let ended = false
  let iterated = false
  let reader: 'none' | 'reading' | 'gone' = 'none'
  let fed = false
  let unsubscribe = hub.noteEntries(conversationId, unread)
  const stopReading = () => {
    reader = 'gone'
  }
  const feed: FeedHandle = {
    begin() {
      unsubscribe()
      unsubscribe = reader === 'none' ? () => {} : stopReading
      fed = true
      return lastSeq ?? (unread.last === -1 ? undefined : unread.last)
    },
    push(event) {
      if (reader === 'reading') queue.push(event)
      else if (reader === 'none' && event.type === 'entry') addEntry(unread, event.seq)
    },
  }
  const result = start(feed)
  const end = (failure?: unknown) => {
    ended = true
    unsubscribe()
    queue.close(failure) // a reader that only iterates and does not await `result` also gets the error
  }
  result.then(() => end(), end)

  async function* unreadThenLive(live: AsyncIterator<TurnEvent>): AsyncGenerator<TurnEvent> {
    try {
      for await (const { seq, change } of store.readJournal(conversationId, { after: unread.after })) {
        if (seq > unread.last) break
        unread.after = seq
        yield { type: 'entry', seq, change }
      }
      unread.after = unread.last // if a retention policy has removed some of these entries, they are skipped
      for (let next = await live.next(); !next.done; next = await live.next()) yield next.value
    } finally {
      await live.return?.()
    }
  }

  const handle: TurnHandle = {
    result,
    async *partialOutput() {
      const read = createOutputReader()
      for await (const event of handle) {
        const partial = read(event)
        if (partial !== undefined) yield partial
      }
    },
    [Symbol.asyncIterator]() {
      unsubscribe()
      reader = 'reading'
      if (fed) unsubscribe = stopReading
      else if (!ended) {
        if (!iterated) for (const published of hub.inFlight(conversationId)) push(published)
        iterated = true
        unsubscribe = hub.subscribe(conversationId, push)
      }
      const live = queue[Symbol.asyncIterator]()
      return unread.after < unread.last ? unreadThenLive(live) : live
    },
  }
  return handle
}
