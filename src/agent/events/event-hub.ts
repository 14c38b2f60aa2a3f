import type { EntryEvent, LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'
import { endsLiveOutput } from '../../core/timeline/change.ts'
import type { Entry } from '../../ports/store.ts'
import { createSharedEntries } from './shared-entries.ts'

/**
 * Sends the events of conversations to their listeners, in order. The hub has state only for conversations that are running or have
 * listeners.
 */
export interface EventHub {
  /**
   * Called when a conversation starts to run. `seq` is the number of its last entry, and `epoch` is the epoch of its claim. The returned
   * feed may be used until `close`.
   */
  open(conversationId: string, seq: number, epoch: number): LiveFeed
  close(conversationId: string): void
  publish(conversationId: string, event: TurnEvent): void
  /** Adds a listener and returns a function that removes it. */
  subscribe(conversationId: string, listener: Listener): () => void
  /**
   * Records in `range` which entries are published. Returns a function that ends the recording. A range is not a watcher: if a conversation
   * has only ranges and no listeners, the live output of its responses is not computed.
   */
  noteEntries(conversationId: string, range: EntryRange): () => void
  /** Calls the callbacks of `onDeleted`. The agent calls this after it has deleted the conversation, which then has no further events. */
  announceDeleted(conversationId: string): void
  /** Sets a callback for the deletion of the conversation. Returns a function that removes the callback. */
  onDeleted(conversationId: string, callback: () => void): () => void
  /**
   * The live events of the current response, until its blocks are in the journal. A listener that joins in the middle of an answer gets
   * these events first.
   */
  inFlight(conversationId: string): readonly LivePublished[]
  /**
   * The epoch and the number of the latest live event of a conversation that is running. Undefined when the conversation is not running.
   */
  position(conversationId: string): LivePosition | undefined
  /** Sets a callback that is called whenever a conversation starts to run. */
  onOpened(callback: () => void): void
  /** The event of an entry that was read from the journal. Readers of the same large entry get the same object. */
  entryEvent(conversationId: string, entry: Entry): EntryEvent
  /** The number of conversations that are running or have listeners. */
  readonly size: number
}

/** An event, and the `seq` of the last entry at the time when the event was published. */
export type PublishedEvent = LivePublished | { readonly event: EntryEvent; readonly seq: number }

/** A live event. Of two live events of a conversation, the later one has the higher epoch, or the same epoch and the higher number. */
export interface LivePublished extends LivePosition {
  readonly event: LaneEvent | StatusEvent
  readonly seq: number
}

/** The place of a live event: the epoch of the claim under which it was published, and its number under that claim, from 1. */
export interface LivePosition {
  readonly epoch: number
  readonly number: number
}

/** The published entries from `after` (exclusive) to `last`. Both numbers are -1 if no entry was published. */
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
  readonly epoch: number
  number: number
  inFlight: LivePublished[]
  catchUp: (() => void) | undefined
}

type Listener = (published: PublishedEvent) => void

/** Removes the last line of progress of a call, because the next line replaces it. */
const withoutProgress = (events: LivePublished[], callId: string | undefined): LivePublished[] =>
  events.filter(({ event }) => event.type !== 'status' || event.status !== 'tool.progress' || event.call_id !== callId)

/**
 * Adds an event to the live events of a response. Removes events of earlier rounds, and the line of progress that the new event replaces.
 */
export function addInFlight(events: LivePublished[], published: LivePublished): LivePublished[] {
  const { event } = published
  const first = events[0]?.event
  if (first && (first.iteration !== event.iteration || first.turn_id !== event.turn_id)) return [published]
  const kept = event.type === 'status' && event.status === 'tool.progress' ? withoutProgress(events, event.call_id) : events
  kept.push(published)
  return kept
}

/** Makes an event hub. If a listener throws, `onError` is called with its error, and the other listeners still get the event. */
export function createEventHub(onError: (error: unknown) => void): EventHub {
  const feeds = new Map<string, ConversationFeed>()
  const deletionCallbacks = new Map<string, Set<() => void>>()
  let onOpened: (() => void) | undefined

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
    if (!live) return { event, seq: 0, epoch: 0, number: 0 } // the conversation has ended, so followers ignore the event
    const published = { event, seq: live.seq, epoch: live.epoch, number: ++live.number }
    live.inFlight = addInFlight(live.inFlight, published)
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
    open(conversationId, seq, epoch) {
      const feed = findOrCreate(conversationId)
      feed.live = { seq, epoch, number: 0, inFlight: [], catchUp: undefined }
      onOpened?.()
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
    position: (conversationId) => feeds.get(conversationId)?.live,
    onOpened(callback) {
      onOpened = callback
    },
    entryEvent: createSharedEntries(),
    get size() {
      return feeds.size
    },
  }
}
