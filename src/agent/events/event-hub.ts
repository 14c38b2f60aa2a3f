import type { EntryEvent, LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'
import { endsLiveOutput } from '../../core/timeline/change.ts'
import type { Entry } from '../../ports/store.ts'
import { createSharedEntries } from './shared-entries.ts'

/**
 * Sends the events of conversations to their listeners, in order. The hub has state only for conversations that are running or have
 * listeners.
 */
export interface EventHub {
  /** Called when a conversation starts to run. `seq` is the number of its last entry. The returned feed may be used until `close`. */
  open(conversationId: string, seq: number): LiveFeed
  close(conversationId: string): void
  publish(conversationId: string, event: TurnEvent): void
  /** Adds a listener and returns a function that removes it. */
  subscribe(conversationId: string, listener: Listener): () => void
  /**
   * Records in `range` which entries are published. Returns a function that ends this. A range does not count as a watcher, so the live
   * output of a response is not computed for it.
   */
  noteEntries(conversationId: string, range: EntryRange): () => void
  /** Called when the conversation was deleted. A deleted conversation has no further events. */
  announceDeleted(conversationId: string): void
  /** Sets a callback for the deletion of the conversation. Returns a function that removes the callback. */
  onDeleted(conversationId: string, callback: () => void): () => void
  /**
   * The live events of the current response, until its blocks are in the journal. A listener that joins in the middle of an answer gets
   * these events first.
   */
  inFlight(conversationId: string): readonly PublishedEvent[]
  /** The event of an entry that was read from the journal. Readers of the same large entry get the same object. */
  entryEvent(conversationId: string, entry: Entry): EntryEvent
  /** The number of conversations that are running or have listeners. */
  readonly size: number
}

/** An event, and the `seq` of the last entry at the time when the event was published. */
export interface PublishedEvent<Event extends TurnEvent = TurnEvent> {
  readonly event: Event
  readonly seq: number
}

/** The published entries from `after` (exclusive) to `last`. Both are -1 if there are none. */
export interface EntryRange {
  after: number
  last: number
}

/** Adds an entry to the end of a range. */
export function addEntry(range: EntryRange, seq: number): void {
  if (range.last === -1) range.after = seq - 1
  range.last = seq
}

/** Publishes the events of one running conversation. While no client watches, the live output of a response is not computed. */
export interface LiveFeed {
  emit(event: TurnEvent): void
  hasWatchers(): boolean
  /**
   * Sets a function that emits the part of the response that was not emitted so far. The function is called whenever a watcher joins, until
   * the blocks of the response are in the journal.
   */
  onJoin(catchUp: () => void): void
}

interface ConversationFeed {
  readonly conversationId: string
  /** Undefined while the conversation is not running. */
  live: LiveState | undefined
  readonly listeners: Set<Listener>
  readonly ranges: Set<EntryRange>
}

interface LiveState {
  seq: number
  inFlight: PublishedEvent<LaneEvent | StatusEvent>[]
  catchUp: (() => void) | undefined
}

type Listener = (published: PublishedEvent) => void

/** Leaves out the last line of progress of a call: the next line replaces it. */
const withoutProgress = (events: LiveState['inFlight'], callId: string | undefined): LiveState['inFlight'] =>
  events.filter(({ event }) => event.type !== 'status' || event.status !== 'tool.progress' || event.call_id !== callId)

/** `onError` is called with the error of a listener that throws. The other listeners still get the event. */
export function createEventHub(onError: (error: unknown) => void): EventHub {
  const feeds = new Map<string, ConversationFeed>()
  const deletionCallbacks = new Map<string, Set<() => void>>()

  function findOrCreate(conversationId: string): ConversationFeed {
    const existing = feeds.get(conversationId)
    if (existing) return existing
    const feed: ConversationFeed = { conversationId, live: undefined, listeners: new Set(), ranges: new Set() }
    feeds.set(conversationId, feed)
    return feed
  }

  function removeIfUnused({ conversationId, live, listeners, ranges }: ConversationFeed): void {
    if (!live && listeners.size === 0 && ranges.size === 0) feeds.delete(conversationId)
  }

  /**
   * Adds `seq` to an event. When the blocks of a decision are journaled, the live events of its response are discarded, because the blocks
   * contain the same text. The live events of an interrupted response are discarded when the next round begins.
   */
  function toPublished(live: LiveState | undefined, event: TurnEvent): PublishedEvent {
    if (event.type === 'entry') {
      if (live) live.seq = event.seq
      if (live && endsLiveOutput(event.change)) {
        live.inFlight = []
        live.catchUp = undefined
      }
      return { event, seq: event.seq }
    }
    const published = { event, seq: live?.seq ?? 0 }
    if (!live) return published
    const [first] = live.inFlight
    if (first && first.event.iteration !== event.iteration) live.inFlight = []
    if (event.type === 'status' && event.status === 'tool.progress') live.inFlight = withoutProgress(live.inFlight, event.call_id)
    live.inFlight.push(published)
    return published
  }

  function notify(listeners: ReadonlySet<Listener>, published: PublishedEvent) {
    if (listeners.size === 0) return
    for (const listener of listeners) {
      try {
        listener(published)
      } catch (error) {
        onError(error)
      }
    }
  }

  function publish(feed: ConversationFeed, event: TurnEvent): void {
    const published = toPublished(feed.live, event)
    notify(feed.listeners, published)
    if (event.type === 'entry') for (const range of feed.ranges) addEntry(range, event.seq)
  }

  return {
    open(conversationId, seq) {
      const feed = findOrCreate(conversationId)
      feed.live = { seq, inFlight: [], catchUp: undefined }
      return {
        emit: (event) => publish(feed, event),
        hasWatchers: () => feed.listeners.size > 0,
        onJoin(catchUp) {
          if (feed.live) feed.live.catchUp = catchUp
        },
      }
    },
    close(conversationId) {
      const feed = feeds.get(conversationId)
      if (!feed) return
      feed.live = undefined
      removeIfUnused(feed)
    },
    publish(conversationId, event) {
      const feed = feeds.get(conversationId)
      if (feed) publish(feed, event)
    },
    subscribe(conversationId, listener) {
      const feed = findOrCreate(conversationId)
      feed.live?.catchUp?.()
      feed.listeners.add(listener)
      return () => {
        if (feed.listeners.delete(listener)) removeIfUnused(feed)
      }
    },
    noteEntries(conversationId, range) {
      const feed = findOrCreate(conversationId)
      feed.ranges.add(range)
      return () => {
        if (feed.ranges.delete(range)) removeIfUnused(feed)
      }
    },
    announceDeleted(conversationId) {
      for (const callback of deletionCallbacks.get(conversationId) ?? []) callback()
    },
    onDeleted(conversationId, callback) {
      const callbacks = deletionCallbacks.get(conversationId) ?? new Set()
      deletionCallbacks.set(conversationId, callbacks.add(callback))
      return () => {
        callbacks.delete(callback)
        if (callbacks.size === 0 && deletionCallbacks.get(conversationId) === callbacks) deletionCallbacks.delete(conversationId)
      }
    },
    inFlight(conversationId) {
      const live = feeds.get(conversationId)?.live
      live?.catchUp?.()
      return [...(live?.inFlight ?? [])]
    },
    entryEvent: createSharedEntries(),
    get size() {
      return feeds.size
    },
  }
}
