import { Failure } from '../../../core/failure.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { createOfferListeners } from '../shared/offers.ts'
import { createWatchers } from '../shared/watchers.ts'
import type { Database } from './database.ts'
import { isBusy } from './open.ts'

/** How often the file is checked for commits of other processes while there are listeners. */
const POLL_MS = 200

/**
 * Watches conversations for new entries and for offers. The store reports the appends and offers of this process with `note` and
 * `noteOffer`. SQLite sends no notification when another process writes. So while there are listeners, a timer checks whether another
 * process has committed something. Only if so, the watched conversations and the open offers are looked up.
 */
export function createWatch(database: Database) {
  const lastSeq = database.readStatement<{ last_seq: number }>('SELECT last_seq FROM conversations WHERE id = ? AND deleted_at IS NULL')
  const watchers = createWatchers((conversationId) =>
    conversationId.isWellFormed() ? database.read(() => lastSeq.get(conversationId)?.last_seq) : undefined,
  )
  const offered = database.readStatement<{ id: string }>('SELECT id FROM conversations WHERE offers IS NOT NULL')
  const offerListeners = createOfferListeners()
  const noted = new Map<string, number>()
  const notedOffers = new Set<string>()
  let revision = ''
  let timer: ReturnType<typeof setInterval> | undefined

  function poll(): void {
    for (const [conversationId, seq] of noted) watchers.tell(conversationId, seq)
    noted.clear()
    for (const conversationId of notedOffers) offerListeners.tell(conversationId)
    notedOffers.clear()
    try {
      const current = database.revision()
      if (current === revision) return
      watchers.check()
      if (offerListeners.size > 0) for (const { id } of database.read(() => offered.all())) offerListeners.tell(id)
      revision = current // set after the checks: if they fail because the file is locked, the next poll repeats them
    } catch (error) {
      if (isBusy(error instanceof Failure ? error.cause : error)) return
      watchers.fail(error)
      offerListeners.fail(error)
    }
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
    noted.clear()
    notedOffers.clear()
  }

  /** Adds a listener, and polls as long as there are listeners. Returns a function that removes the listener. */
  function addListener(add: () => () => void): () => void {
    const current = database.revision()
    const remove = add()
    if (timer === undefined) {
      revision = current
      timer = setInterval(poll, POLL_MS).unref() // watching alone does not keep the process running
    }
    return () => {
      remove()
      if (watchers.watched.size === 0 && offerListeners.size === 0) stop()
    }
  }

  const watch: ConversationStore['watch'] = (conversationId, listener) => addListener(() => watchers.add(conversationId, listener))
  const watchOffers: ConversationStore['watchOffers'] = (listener) => addListener(() => offerListeners.add(listener))

  return {
    watch,
    watchOffers,
    /** Stores the last entry of an append of this process. The listeners are told at the next poll. */
    note(conversationId: string, seq: number): void {
      if (watchers.watched.has(conversationId)) noted.set(conversationId, seq)
    },
    /** Stores that this process has added an offer. The listeners are told at the next poll. */
    noteOffer(conversationId: string): void {
      if (offerListeners.size > 0) notedOffers.add(conversationId)
    },
    close(): void {
      watchers.clear()
      offerListeners.clear()
      stop()
    },
  }
}
