import { isObject, parseJson } from '../../../core/json.ts'
import type { ConversationStore, WatchListener } from '../../../ports/store.ts'
import { createOfferListeners } from '../shared/offers.ts'
import { isStorableId } from './conversation-columns.ts'
import type { Database } from './database.ts'
import { createNoticeReceiver } from './notices.ts'

/** How often the watched conversations are looked up, in case a notification was lost. */
const SWEEP_MS = 5_000
/**
 * How often the watched conversations are looked up while no notifications arrive, for example because a connection pooler does not pass
 * them on.
 */
const SWEEP_WITHOUT_NOTICES_MS = 1_000
/** How long the connection stays open after the last listener has ended. A conversation is often watched again soon. */
const UNUSED_MS = 10_000
/** How long notifications are collected before they are sent together. */
const NOTIFY_MS = 5
/** How long notifications of new entries are collected. A running turn writes often, and each notification takes time of the server. */
const NOTIFY_ENTRIES_MS = 20
/** PostgreSQL allows 8,000 bytes in a notification. */
const MAX_NOTICE_BYTES = 7_500

interface Watched {
  /** The `seq` of the last entry that the listeners know. Undefined when they were told that the conversation does not exist. */
  told: number | undefined
  /** Whether `told` was ever looked up. */
  known: boolean
  /** The key of the row that was looked up last. If a conversation is deleted and created again, the new row has another key. */
  key?: number | undefined
  /** The moment at which `told` was last changed. The answer to a look-up that began earlier may be older than `told`. */
  changed: number
  readonly listeners: Set<WatchListener>
}

/** What a look-up finds. `last_seq` of the same `key` never falls. */
interface Row {
  readonly key: number
  readonly last_seq: number
}

/** Whether a row is certainly newer than what the listeners know. A conversation that is created again has a greater key. */
function isNewer({ key, told }: Watched, row: Row | undefined): boolean {
  if (row === undefined || key === undefined) return false
  return row.key > key || (row.key === key && told !== undefined && row.last_seq > told)
}

/** A notification about one conversation: about new entries, a new offer, its deletion, or several of these. */
interface Notice {
  lastSeq?: number
  offered?: true
  deleted?: true
}

/** Reads a notification. Every program that may connect to the database can send one, so texts that are not in this form are ignored. */
function parseNotices(payload: string): readonly (readonly [id: string, notice: Notice])[] {
  const parsed = parseJson(payload)
  if (!isObject(parsed)) return []
  return Object.entries(parsed).flatMap(([id, notice]) => {
    if (!isObject(notice)) return []
    const { lastSeq, offered, deleted } = notice
    return [
      [id, { ...(typeof lastSeq === 'number' && { lastSeq }), ...(offered === true && { offered }), ...(deleted === true && { deleted }) }],
    ]
  })
}

/**
 * Watches conversations for new entries and for offers. A process that writes sends a notification (NOTIFY) soon after its commit. While
 * there are listeners, a separate connection receives the notifications. Notifications may be lost, so the watched conversations are also
 * looked up every few seconds and after a lost connection. Until a first notification has arrived over the connection, the conversations
 * are looked up every second.
 */
export function createWatch(database: Database) {
  const watched = new Map<string, Watched>()
  const offerListeners = createOfferListeners()
  const receiver = createNoticeReceiver(database, onNotice, () => void sweep())
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopping: ReturnType<typeof setTimeout> | undefined
  let closed = false
  /** Counts look-ups and changes of what listeners know, so that their order is known. */
  let moment = 0

  function tell(watch: Watched, lastSeq: number | undefined): void {
    if (watch.known && watch.told === lastSeq) return
    watch.known = true
    watch.told = lastSeq
    watch.changed = ++moment
    for (const { onWritten } of watch.listeners) onWritten(lastSeq)
  }

  function fail(error: unknown): void {
    for (const { listeners } of watched.values()) for (const { onError } of listeners) onError(error)
    offerListeners.fail(error)
  }

  /** Looks up the last entries of conversations, and tells the listeners of those that have changed. */
  async function lookUp(ids: readonly string[]): Promise<void> {
    const began = ++moment
    const rows = await database.all<Row & { readonly id: string }>(
      'SELECT id, key, last_seq FROM conversations WHERE deleted_at IS NULL AND id = ANY ($1::text[])',
      [ids.filter(isStorableId)],
    )
    const found = new Map(rows.map((row) => [row.id, row]))
    for (const id of ids) {
      const watch = watched.get(id)
      if (watch) applyRow(watch, found.get(id), began)
    }
  }

  /** Tells the listeners what a look-up has found, unless they already know something newer. */
  function applyRow(watch: Watched, row: Row | undefined, began: number): void {
    // A notification or the answer to another look-up has overtaken this answer. The server may have read the row before the change that
    // the listeners know. So an older or missing row does not mean that the conversation was deleted. The next sweep finds a deletion.
    if (began < watch.changed && !isNewer(watch, row)) return
    if (watch.key !== undefined && row?.key !== watch.key) tell(watch, undefined) // the notification of the deletion was lost
    watch.key = row?.key
    if (!watch.known && row === undefined)
      watch.known = true // the conversation was not deleted. It does not exist yet
    else tell(watch, row?.last_seq) // fewer entries than before, if a late notification was about a deleted conversation with this id
  }

  async function sweep(): Promise<void> {
    try {
      if (watched.size > 0) await lookUp([...watched.keys()])
      if (offerListeners.size === 0) return
      for (const { id } of await database.all<{ id: string }>('SELECT id FROM conversations WHERE offers IS NOT NULL'))
        offerListeners.tell(id)
    } catch (error) {
      if (!closed) fail(error)
    }
  }

  function onNotice(payload: string): void {
    for (const [id, notice] of parseNotices(payload)) {
      const watch = watched.get(id)
      // If the notification is about a later entry, the listeners are told directly. If the conversation was deleted or created again, it
      // has to be looked up.
      const isLater = watch?.known === true && notice.lastSeq !== undefined && watch.told !== undefined && notice.lastSeq > watch.told
      if (watch && notice.deleted) tell(watch, undefined) // it may have been created again with the same number of entries
      if (watch && isLater && !notice.deleted) tell(watch, notice.lastSeq)
      else if (watch && (notice.deleted || notice.lastSeq !== watch.told)) void lookUp([id]).catch(fail)
      if (notice.offered) offerListeners.tell(id)
    }
  }

  /** Looks the conversations up after a while, and then repeatedly. */
  function sweepLater(): void {
    const again = async () => {
      await sweep()
      if (timer === own) sweepLater()
    }
    const own = setTimeout(() => void again(), receiver.hasNotices ? SWEEP_MS : SWEEP_WITHOUT_NOTICES_MS).unref() // does not keep the process running
    timer = own
  }

  function start(): void {
    clearTimeout(stopping)
    if (timer !== undefined) return
    sweepLater()
    receiver.start()
  }

  function stop(): void {
    clearTimeout(stopping)
    clearTimeout(timer)
    timer = undefined
    receiver.stop()
  }

  const stopIfUnused = () => {
    if (watched.size > 0 || offerListeners.size > 0) return
    clearTimeout(stopping)
    stopping = setTimeout(stop, UNUSED_MS).unref() // does not keep the process running
  }

  const pending = new Map<string, Notice>()
  let sending: ReturnType<typeof setTimeout> | undefined
  let sendAt = Number.POSITIVE_INFINITY

  async function send(): Promise<void> {
    sendAt = Number.POSITIVE_INFINITY
    let part: Record<string, Notice> = {}
    let size = 0
    const parts: Record<string, Notice>[] = []
    for (const [id, notice] of pending) {
      const bytes = Buffer.byteLength(JSON.stringify({ [id]: notice }))
      if (bytes > MAX_NOTICE_BYTES) continue // too long for a notification. Other processes find the change with their sweep
      if (size + bytes > MAX_NOTICE_BYTES) {
        parts.push(part)
        part = {}
        size = 0
      }
      part[id] = notice
      size += bytes
    }
    pending.clear()
    for (const each of [...parts, part].filter((some) => Object.keys(some).length > 0)) {
      const payload = JSON.stringify(each)
      if (!database.canListen) onNotice(payload) // tells the listeners of this process, which would otherwise wait for the next sweep
      await database.notify(payload)
    }
  }

  function note(conversationId: string, notice: Notice, delay = NOTIFY_MS): void {
    pending.set(conversationId, { ...pending.get(conversationId), ...notice })
    const at = performance.now() + delay
    if (at >= sendAt) return
    clearTimeout(sending)
    sendAt = at
    sending = setTimeout(() => void send().catch(() => {}), delay) // a failure is ignored, because the sweep finds the change
  }

  const watch: ConversationStore['watch'] = (conversationId, listener) => {
    const own = { ...listener } // a copy, because the set would keep a listener that is added twice only once
    const known = watched.get(conversationId) ?? { told: undefined, known: false, changed: ++moment, listeners: new Set() }
    watched.set(conversationId, known)
    known.listeners.add(own)
    start()
    if (!known.known) void lookUp([conversationId]).catch(() => {}) // after a failure, the sweep tries again
    return () => {
      known.listeners.delete(own)
      if (known.listeners.size === 0 && watched.get(conversationId) === known) watched.delete(conversationId)
      stopIfUnused()
    }
  }

  return {
    watch,
    watchOffers: ((listener) => {
      const remove = offerListeners.add(listener)
      start()
      return () => {
        remove()
        stopIfUnused()
      }
    }) as ConversationStore['watchOffers'],
    noteAppend: (conversationId: string, lastSeq: number) => note(conversationId, { lastSeq }, NOTIFY_ENTRIES_MS),
    noteOffer: (conversationId: string) => note(conversationId, { offered: true }),
    noteDeletion: (conversationId: string) => note(conversationId, { deleted: true }),
    async close(): Promise<void> {
      closed = true
      clearTimeout(sending)
      await send().catch(() => {}) // after a failure, other processes find the entries with their sweep
      watched.clear()
      offerListeners.clear()
      stop()
    },
  }
}
