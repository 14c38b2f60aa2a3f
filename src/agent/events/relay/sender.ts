import type { EventHub, LivePublished, PublishedEvent } from '../event-hub.ts'
import { isAddress, MAX_TEXT } from './frames.ts'
import type { LiveBatch, LiveRequest, RelayMessage } from './messages.ts'

/** How long live events are sent to a process after its last request. */
export const LEASE_MS = 15_000
/** How long events are collected before they are sent together. The first event after a pause is sent without this delay. */
const BATCH_MS = 50
/** When this many characters wait, they are sent without a further delay. */
const BATCH_TEXT = 6_000
const MAX_TARGETS = 1_000

/** The events that wait for one process. */
interface Target {
  readonly address: string
  batches: MutableBatch[]
  size: number
  sentAt: number
  sending: boolean
  timer: ReturnType<typeof setTimeout> | undefined
  readonly feeds: Map<string, SentFeed>
}

type MutableBatch = Omit<LiveBatch, 'last' | 'events'> & { last: number; readonly events: LivePublished[] }

/** A conversation of this process that another process follows. */
interface SentFeed {
  readonly conversationId: string
  epoch: number
  /** The number of the last event that was sent or waits to be sent. */
  last: number
  expiresAt: number
  unsubscribe(): void
}

/** Sends the live events of conversations that run in this process to the processes that request them. */
export interface LiveSender {
  onRequests(from: string, requests: readonly LiveRequest[], ends: readonly string[]): void
  close(): void
}

/**
 * Makes a sender. `send` sends a message to a process. If it fails, the events are dropped. The other process notices the gap and requests
 * the events again.
 */
export function createLiveSender(
  hub: Pick<EventHub, 'subscribe' | 'inFlight' | 'position'>,
  send: (address: string, message: RelayMessage) => Promise<void>,
): LiveSender {
  const targets = new Map<string, Target>()
  const sweep = setInterval(endExpired, LEASE_MS / 3).unref()

  function targetOf(address: string): Target | undefined {
    const known = targets.get(address)
    if (known || targets.size >= MAX_TARGETS || !isAddress(address)) return known
    const target = { address, batches: [], size: 0, sentAt: 0, sending: false, timer: undefined, feeds: new Map() }
    targets.set(address, target)
    return target
  }

  /**
   * Every request is answered, even if there are no new events, because the answer tells the other process that a process runs the
   * conversation.
   */
  function answer(target: Target, { conversationId, epoch, number }: LiveRequest): void {
    const known = target.feeds.get(conversationId)
    if (known) known.expiresAt = performance.now() + LEASE_MS
    if (!hub.position(conversationId)) return
    const feed = known ?? openFeed(target, conversationId)
    const events = hub.inFlight(conversationId)
    const live = hub.position(conversationId)
    if (!live) return
    const after = live.epoch === epoch ? number : 0
    feed.epoch = live.epoch
    feed.last = live.number
    const missing = events.filter((event) => event.number > after)
    addBatch(target, { conversationId, epoch: live.epoch, after, last: live.number, events: missing })
  }

  function openFeed(target: Target, conversationId: string): SentFeed {
    const feed: SentFeed = {
      conversationId,
      epoch: 0,
      last: 0,
      expiresAt: performance.now() + LEASE_MS,
      unsubscribe: hub.subscribe(conversationId, (published) => onPublished(target, feed, published)),
    }
    target.feeds.set(conversationId, feed)
    return feed
  }

  function onPublished(target: Target, feed: SentFeed, published: PublishedEvent): void {
    // Only live events are sent, because the other process reads entries from the store.
    if (!('number' in published) || published.number === 0) return
    if (published.epoch !== feed.epoch) feed.last = 0
    feed.epoch = published.epoch
    const { epoch, number } = published
    const latest = target.batches.findLast(({ conversationId }) => conversationId === feed.conversationId)
    if (latest && latest.epoch === epoch && latest.last === feed.last) {
      latest.events.push(published)
      latest.last = number
      grow(target, textSize(published))
    } else addBatch(target, { conversationId: feed.conversationId, epoch, after: feed.last, last: number, events: [published] })
    feed.last = number
  }

  function addBatch(target: Target, batch: MutableBatch): void {
    target.batches.push(batch)
    grow(target, batch.conversationId.length + batch.events.reduce((sum, event) => sum + textSize(event), 0))
  }

  function grow(target: Target, size: number): void {
    target.size += size
    // If the relay is too slow, waiting events are dropped. The other process notices the gap and requests them again, or reads the entry.
    if (target.size > MAX_TEXT) dropWaiting(target)
    const wait = target.size >= BATCH_TEXT ? 0 : Math.max(1, target.sentAt + BATCH_MS - performance.now())
    if (target.sending) return
    if (target.timer !== undefined && wait > 0) return
    clearTimeout(target.timer)
    target.timer = setTimeout(flush, wait, target)
  }

  function dropWaiting(target: Target): void {
    target.batches = []
    target.size = 0
  }

  async function flush(target: Target): Promise<void> {
    target.timer = undefined
    if (target.batches.length === 0 || target.sending) return
    const { batches } = target
    dropWaiting(target)
    target.sending = true
    // After a failure, the other process notices the gap and requests the events again.
    await send(target.address, { type: 'batches', batches }).catch(() => {})
    target.sending = false
    target.sentAt = performance.now()
    if (target.batches.length > 0) grow(target, 0)
  }

  function endFeed(target: Target, conversationId: string): void {
    target.feeds.get(conversationId)?.unsubscribe()
    target.feeds.delete(conversationId)
    if (target.feeds.size > 0) return
    clearTimeout(target.timer)
    dropWaiting(target)
    targets.delete(target.address)
  }

  function endExpired(): void {
    const now = performance.now()
    for (const target of targets.values())
      for (const { conversationId, expiresAt } of [...target.feeds.values()]) if (expiresAt < now) endFeed(target, conversationId)
  }

  return {
    onRequests(from, requests, ends) {
      const wanted = requests.filter(({ conversationId }) => hub.position(conversationId) || targets.get(from)?.feeds.has(conversationId))
      const target = wanted.length > 0 ? targetOf(from) : targets.get(from)
      if (!target) return
      for (const request of wanted) answer(target, request)
      for (const conversationId of ends) endFeed(target, conversationId)
    },
    close() {
      clearInterval(sweep)
      for (const target of [...targets.values()]) for (const id of [...target.feeds.keys()]) endFeed(target, id)
    },
  }
}

/** About how many characters an event has as JSON. */
const textSize = ({ event }: LivePublished): number => (event.type === 'lane.delta' ? event.delta.text.length + 8 : 200)
