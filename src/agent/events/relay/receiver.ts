import { endsLiveOutput } from '../../../core/timeline/change.ts'
import { pausesTurn } from '../../../core/timeline/waits.ts'
import { type Entry, LEASE_MS } from '../../../ports/store.ts'
import { addInFlight, type EventHub, type LivePublished } from '../event-hub.ts'
import { MAX_TEXT } from './frames.ts'
import type { LiveBatch, LiveRequest } from './messages.ts'

/** How often the live events of a running turn are requested again. */
const RENEW_MS = 5_000
/** How long requests are collected before they are sent together. */
const COLLECT_MS = 2
/** The shortest time between two requests for one conversation. */
const AGAIN_MS = 50
/**
 * How many requests in a row are sent without an answer. They are sent for longer than the lease of a conversation lasts. If the process of
 * the turn has died, another process takes over the turn after this lease, and often writes no entry at first. After `MAX_TRIES` requests,
 * a request is sent only at every `SELDOM`th renewal, when an entry arrives, or when another process connects.
 */
const MAX_TRIES = Math.ceil(LEASE_MS / RENEW_MS) + 2
const SELDOM = 6

/** The live events that arrive from the process which runs a conversation, for the followers in this process. */
interface ReceivedFeed {
  readonly listeners: Set<(published: LivePublished) => void>
  epoch: number
  /** The number of the last event that arrived. */
  last: number
  /** The live events of the current response, for followers that join in the middle of it. */
  held: LivePublished[]
  heldSize: number
  /** The response whose events are not kept, because there are too many. Followers get its text with its entry. */
  muted: string | undefined
  /** The `seq` of the latest entry that is known here. */
  seq: number
  /** False when the last entry shows that no turn is running. In this case nothing is requested. */
  active: boolean
  /** Whether a process has answered since the turn began. */
  hasOwner: boolean
  /** Whether a process has sent events. If so, it is informed when the conversation has no more followers in this process. */
  wasAnswered: boolean
  tries: number
  requestedAt: number
  /** The timer of a request that is delayed, because the previous request was sent less than `AGAIN_MS` ago. */
  postponed: ReturnType<typeof setTimeout> | undefined
}

/** One follower of a conversation that another process may run. */
export interface RemoteFollower {
  /** Called for each entry that the follower has read. */
  onEntry(entry: Entry): void
  leave(): void
}

/** Requests and receives the live events of conversations that other processes run. */
export interface LiveReceiver {
  /**
   * Adds a follower that has the entries up to `after`. The listener gets the live events of the current response, from its beginning, and
   * then all later live events. It may get an event twice, so it has to compare positions. `active` is false if no turn is open.
   */
  join(
    conversationId: string,
    start: { readonly after: number; readonly active: boolean },
    listener: (published: LivePublished) => void,
  ): RemoteFollower
  onBatches(batches: readonly LiveBatch[]): void
  /** Requests everything again, because messages may have been lost. */
  requestAll(): void
  close(): void
}

/** Makes a receiver. `request` sends requests to all processes. If it fails, the requests are sent again later. */
export function createLiveReceiver(
  hub: Pick<EventHub, 'position'>,
  request: (requests: readonly LiveRequest[], ends: readonly string[]) => void,
): LiveReceiver {
  const feeds = new Map<string, ReceivedFeed>()
  const toRequest = new Set<string>()
  const toEnd = new Set<string>()
  let collecting: ReturnType<typeof setTimeout> | undefined
  const renewal = setInterval(renew, RENEW_MS).unref()

  function collect(): void {
    collecting ??= setTimeout(() => {
      collecting = undefined
      const requests = [...toRequest].flatMap((conversationId) => {
        const feed = feeds.get(conversationId)
        return feed ? [{ conversationId, epoch: feed.epoch, number: feed.last }] : []
      })
      const ends = [...toEnd].filter((conversationId) => !feeds.has(conversationId))
      toRequest.clear()
      toEnd.clear()
      if (requests.length > 0 || ends.length > 0) request(requests, ends)
    }, COLLECT_MS).unref()
  }

  function ask(conversationId: string, feed: ReceivedFeed): void {
    if (hub.position(conversationId)) return // this process runs the conversation itself
    const wait = feed.requestedAt + AGAIN_MS - performance.now()
    if (wait > 0) {
      feed.postponed ??= setTimeout(() => {
        feed.postponed = undefined
        if (feeds.get(conversationId) === feed) ask(conversationId, feed)
      }, wait).unref()
      return
    }
    feed.requestedAt = performance.now()
    toRequest.add(conversationId)
    collect()
  }

  function renew(): void {
    for (const [conversationId, feed] of feeds) {
      if (!feed.active) continue
      const tries = feed.tries++
      if (tries > 0) feed.hasOwner = false // the last request had no answer
      if (tries < MAX_TRIES || tries % SELDOM === 0) ask(conversationId, feed)
    }
  }

  function forget(feed: ReceivedFeed): void {
    Object.assign(feed, { epoch: 0, last: 0, held: [], heldSize: 0, muted: undefined })
  }

  function onBatch({ conversationId, epoch, after, last, events }: LiveBatch): void {
    const feed = feeds.get(conversationId)
    if (!feed || epoch < feed.epoch) return // the batch comes from a process that has lost the conversation
    feed.hasOwner = true
    feed.wasAnswered = true
    feed.tries = 0
    if (epoch > feed.epoch) {
      forget(feed)
      feed.epoch = epoch
    }
    if (after > feed.last) return void ask(conversationId, feed) // a batch was lost
    for (const event of events) if (event.number > feed.last) add(feed, event)
    feed.last = Math.max(feed.last, last)
  }

  function add(feed: ReceivedFeed, published: LivePublished): void {
    const { event, seq } = published
    const response = `${event.turn_id} ${event.iteration}`
    if (feed.muted !== undefined && feed.muted !== response) feed.muted = undefined
    if (feed.muted !== undefined) return
    const held = addInFlight(feed.held, published)
    feed.heldSize = (held.length === 1 ? 0 : feed.heldSize) + (event.type === 'lane.delta' ? event.delta.text.length : 0) + 200
    feed.held = held
    if (seq > feed.seq) {
      feed.seq = seq
      feed.active = true // the followers have not read the entry that opened the turn yet
    }
    if (feed.heldSize > MAX_TEXT) {
      feed.held = []
      feed.muted = response
      return
    }
    for (const listener of feed.listeners) listener(published)
  }

  function onEntry(conversationId: string, feed: ReceivedFeed, { seq, change }: Entry): void {
    // An entry that is not new is skipped. Another follower has already read it, or a later live event has arrived.
    if (seq <= feed.seq && !endsLiveOutput(change)) return
    feed.seq = Math.max(feed.seq, seq)
    if (endsLiveOutput(change)) feed.held = feed.held.filter((event) => event.seq >= seq)
    feed.active = !pausesTurn(change)
    feed.tries = 0
    if (!feed.active) feed.hasOwner = false
    else if (!feed.hasOwner) ask(conversationId, feed)
  }

  return {
    join(conversationId, { after, active }, listener) {
      const known = feeds.get(conversationId)
      const feed: ReceivedFeed = known ?? {
        listeners: new Set(),
        epoch: 0,
        last: 0,
        held: [],
        heldSize: 0,
        muted: undefined,
        seq: after,
        active,
        hasOwner: false,
        wasAnswered: false,
        tries: 0,
        requestedAt: Number.NEGATIVE_INFINITY,
        postponed: undefined,
      }
      feeds.set(conversationId, feed)
      // A new function is made, because a set would contain a listener only once even if it is added twice.
      const own = (published: LivePublished) => listener(published)
      feed.listeners.add(own)
      const isBehind = known !== undefined && after > feed.seq // the held events may belong to a response whose entry is already stored
      if (isBehind) {
        forget(feed)
        feed.seq = after
        feed.active = active
        feed.requestedAt = Number.NEGATIVE_INFINITY
      }
      for (const published of feed.held) own(published)
      if ((!known || isBehind) && active) ask(conversationId, feed)
      return {
        onEntry: (entry) => onEntry(conversationId, feed, entry),
        leave() {
          feed.listeners.delete(own)
          if (feed.listeners.size > 0 || feeds.get(conversationId) !== feed) return
          feeds.delete(conversationId)
          clearTimeout(feed.postponed)
          if (!feed.wasAnswered) return
          toEnd.add(conversationId)
          collect()
        },
      }
    },
    onBatches(batches) {
      for (const batch of batches) onBatch(batch)
    },
    requestAll() {
      for (const [conversationId, feed] of feeds) {
        if (!feed.active) continue
        feed.tries = 0
        feed.requestedAt = Number.NEGATIVE_INFINITY
        ask(conversationId, feed)
      }
    },
    close() {
      clearInterval(renewal)
      clearTimeout(collecting)
      for (const { postponed } of feeds.values()) clearTimeout(postponed)
      feeds.clear()
    },
  }
}
