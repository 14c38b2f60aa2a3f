import type { LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'
import { endsLiveOutput } from '../../core/timeline/change.ts'

/** Publishes the events of conversations to their listeners, in order. It keeps state only for conversations that run or have listeners. */
export interface EventHub {
  /** Called when the conversation starts to run. `seq` is the number of its last entry. The feed is valid until `close`. */
  open(conversationId: string, seq: number): LiveFeed
  close(conversationId: string): void
  publish(conversationId: string, event: TurnEvent): void
  /** Returns a function that unsubscribes. A listener to `entries` is not a watcher: no live output is made for it. */
  subscribe(conversationId: string, listener: Listener, to?: keyof Listeners): () => void
  /** Called when the conversation was deleted and will have no more events. */
  announceDeleted(conversationId: string): void
  /** Returns a function that removes the callback. */
  onDeleted(conversationId: string, callback: () => void): () => void
  /** Live events of the response whose blocks are not journaled yet. A listener that joins in the middle of an answer begins with these. */
  inFlight(conversationId: string): readonly PublishedEvent[]
  /** The number of conversations that are running or have listeners. */
  readonly size: number
}

/** An event with the sequence number of the last entry when it was published. */
export interface PublishedEvent<Event extends TurnEvent = TurnEvent> {
  readonly event: Event
  readonly seq: number
}

/** The events of one running conversation. As long as it has no watchers, no live output is made. */
export interface LiveFeed {
  emit(event: TurnEvent): void
  hasWatchers(): boolean
  /** Sets a function that emits what was not emitted so far. It is called before a listener joins, until the blocks are journaled. */
  onJoin(catchUp: () => void): void
}

interface ConversationFeed {
  readonly conversationId: string
  /** Undefined while the conversation is not running. */
  live: LiveState | undefined
  readonly listeners: Listeners
}

interface LiveState {
  seq: number
  inFlight: PublishedEvent<LaneEvent | StatusEvent>[]
  catchUp: (() => void) | undefined
}

type Listener = (published: PublishedEvent) => void

interface Listeners {
  readonly everything: Set<Listener>
  readonly entries: Set<Listener>
}

/** `onError` gets the error of a listener that throws. The other listeners are still called. */
export function createEventHub(onError: (error: unknown) => void): EventHub {
  const feeds = new Map<string, ConversationFeed>()
  const deletionCallbacks = new Map<string, Set<() => void>>()

  function findOrCreate(conversationId: string): ConversationFeed {
    const existing = feeds.get(conversationId)
    if (existing) return existing
    const feed: ConversationFeed = { conversationId, live: undefined, listeners: { everything: new Set(), entries: new Set() } }
    feeds.set(conversationId, feed)
    return feed
  }

  function removeIfUnused({ conversationId, live, listeners }: ConversationFeed): void {
    if (!live && listeners.everything.size === 0 && listeners.entries.size === 0) feeds.delete(conversationId)
  }

  /** Adds the sequence number to an event. The blocks of a decision replace the live events of its response, so these are discarded. */
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
    live?.inFlight.push(published)
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
    notify(feed.listeners.everything, published)
    if (event.type === 'entry') notify(feed.listeners.entries, published)
  }

  return {
    open(conversationId, seq) {
      const feed = findOrCreate(conversationId)
      feed.live = { seq, inFlight: [], catchUp: undefined }
      return {
        emit: (event) => publish(feed, event),
        hasWatchers: () => feed.listeners.everything.size > 0,
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
    subscribe(conversationId, listener, to = 'everything') {
      const feed = findOrCreate(conversationId)
      if (to === 'everything') feed.live?.catchUp?.()
      feed.listeners[to].add(listener)
      return () => {
        if (feed.listeners[to].delete(listener)) removeIfUnused(feed)
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
    get size() {
      return feeds.size
    },
  }
}
