import { Failure } from '../../../core/failure.ts'
import type { Change } from '../../../core/timeline/change.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { AppendOptions, Claim, ConversationStore, Entry, OfferedEvent } from '../../../ports/store.ts'
import { asBundleFailure, exportBundle, unpackBundle } from '../shared/bundles.ts'
import {
  checkConversationName,
  conversationExists,
  conversationMissing,
  hasOtherWork,
  type InfoFields,
  isUnfinished,
} from '../shared/conversation-info.ts'
import { checkClaim, checkLeaseFree, isFree, isHeld, leaseExpiry } from '../shared/lease.ts'
import { createMutex } from '../shared/mutex.ts'
import { createOfferListeners, offeredChange } from '../shared/offers.ts'
import { plainBlockNumbers, validateChangesFast } from '../shared/validation/fast-validate.ts'
import { involvesBlobs } from '../shared/validation/validate.ts'
import { createWatchers } from '../shared/watchers.ts'
import { attemptsAtRelease, noAttempts } from '../shared/work.ts'
import { createBlobReferences } from './blob-references.ts'
import { createMemoryBudgets } from './budgets.ts'
import { appendChanges, type MemoryConversation, newConversation, removeHistory, visibleTimeline } from './conversation.ts'
import { createDeletions } from './deletions.ts'
import { createIdleJournals, type IdleJournals } from './idle-journals.ts'
import { listConversations } from './list.ts'
import { createLookUps } from './look-ups.ts'
import { addOffer, readOpenOffers, removeTakenOffers, takeOffers } from './offers.ts'
import { openRecall } from './open-recall.ts'
import { createReceipts } from './receipts.ts'
import { createMemorySchedules } from './schedules.ts'
import { createWorkList, foundIn, infoOf, rowOf } from './work.ts'

/**
 * A store that keeps conversations in memory, for tests and for agents whose conversations need not outlive the process. It is the
 * shortest implementation of `ConversationStore`, so read it before the SQLite store.
 */
export function createMemoryStore({ blobs, clock }: { readonly blobs: BlobStore; readonly clock: Clock }): ConversationStore {
  return createPackingStore(blobs, clock, createIdleJournals())
}

/** The store in memory. `idle` decides which journals are packed. */
export function createPackingStore(blobs: BlobStore, clock: Clock, idle: IdleJournals): ConversationStore {
  const conversations = new Map<string, MemoryConversation>()
  const references = createBlobReferences(blobs)
  const exclusively = createMutex()
  const watchers = createWatchers((conversationId) => conversations.get(conversationId)?.info.lastSeq)
  const offerListeners = createOfferListeners()
  const recall = openRecall(conversations)
  let claims = 0
  let closed = false

  const checkOpen = () => {
    if (closed) throw new Failure('store.closed', 'the store was closed: open it again')
  }
  const write = <T>(work: () => T | Promise<T>) =>
    exclusively(() => {
      checkOpen()
      return watchers.watched.size === 0 ? work() : tellWatchers(work)
    })
  /**
   * Runs `work`, and notifies the watchers of new entries in a later task of the event loop. Before that task, the caller of `append` has
   * sent these entries to its own listeners.
   */
  const tellWatchers = <T>(work: () => T | Promise<T>): T | Promise<T> => {
    const result = work()
    if (result instanceof Promise) return result.finally(() => setImmediate(watchers.check))
    setImmediate(watchers.check)
    return result
  }
  const find = (conversationId: string) => {
    checkOpen()
    return conversations.get(conversationId)
  }

  function claimedConversation(claim: Claim): MemoryConversation {
    const conversation = conversations.get(claim.conversationId)
    checkClaim(claim, conversation?.lease)
    return conversation as MemoryConversation // `checkClaim` throws if the conversation does not exist
  }

  const budgets = createMemoryBudgets({ conversations, write, now: clock.now })
  const receipts = createReceipts({ clock, isReferenced: references.has, removeBudgets: budgets.removeOf })
  const deletions = createDeletions({
    ...{ conversations, references, receipts, clock, newEpoch: () => ++claims, onDelete: idle.forget, write },
    removeBudget: (id) => budgets.remove(`conversation/${id}`),
  })
  const onFree = (id: string) => void setImmediate(offerListeners.tell, id)
  const work = createWorkList({ conversations, clock, newEpoch: () => ++claims, write, onFree })

  async function appendWithBlobs(
    conversation: MemoryConversation,
    changes: readonly Change[],
    finish: () => void,
  ): Promise<readonly Entry[]> {
    const prepared = await references.prepare(changes)
    const entries = appendChanges(conversation, prepared)
    references.add(prepared)
    finish()
    return entries
  }

  function finishAppend(id: string, conversation: MemoryConversation, before: InfoFields, { takes, budget }: AppendOptions = {}): void {
    if (takes) takeOffers(conversation, takes, clock.now())
    if (budget) budgets.enter(id, budget)
    if (takes || hasOtherWork(before, conversation.info)) work.note(id)
  }

  async function offer(
    conversationId: string,
    event: OfferedEvent,
    { create }: { readonly create?: true } = {},
  ): Promise<'offered' | 'known'> {
    const change = offeredChange(event)
    if (create) {
      checkConversationName(conversationId)
      deletions.checkNotDeleting(conversationId)
    }
    const conversation = conversations.get(conversationId) ?? (create && newConversation(idle.rest, ++claims))
    if (!conversation) throw conversationMissing(conversationId)
    if (conversation.offers.has(change.event.event_id)) return 'known'
    await references.prepare([change])
    conversations.set(conversationId, conversation)
    addOffer(conversation, change, clock.now())
    work.note(conversationId)
    references.add([change])
    setImmediate(offerListeners.tell, conversationId)
    return 'offered'
  }

  return {
    blobs,
    memory: recall.index,
    receipts: receipts.port,
    budgets: budgets.port,
    schedules: createMemorySchedules({ conversations, write, offer, now: clock.now }),
    work,

    claim: (conversationId, owner, options) =>
      write(() => {
        checkConversationName(conversationId)
        deletions.checkNotDeleting(conversationId)
        const known = conversations.get(conversationId)
        const now = clock.now()
        if (!known && options?.create === false) throw conversationMissing(conversationId)
        if (known && options?.takeOver !== 'always') checkLeaseFree(conversationId, known.lease, owner, now)
        const conversation = known ?? newConversation(idle.rest)
        const expiresAt = leaseExpiry(now)
        const found = foundIn(conversation)
        conversation.lease = { epoch: ++claims, owner, expiresAt }
        if (options?.forgetFailures) conversation.attempts = noAttempts
        conversations.set(conversationId, conversation)
        work.note(conversationId)
        return { conversationId, ownerId: owner.id, epoch: claims, expiresAt, found }
      }),

    async findOwner(conversationId, asker) {
      const lease = find(conversationId)?.lease
      return lease === undefined || isFree(lease, asker, clock.now()) ? undefined : (lease.owner ?? undefined)
    },

    renew: (claim) =>
      write(() => {
        const conversation = claimedConversation(claim)
        conversation.lease = { ...conversation.lease, expiresAt: leaseExpiry(clock.now()) }
      }),

    release: (claim, result) =>
      write(() => {
        const conversation = conversations.get(claim.conversationId)
        if (conversation?.lease.epoch === claim.epoch && conversation.lease.owner?.id === claim.ownerId) {
          conversation.lease = { epoch: claim.epoch, owner: null, expiresAt: null }
          conversation.attempts = attemptsAtRelease(rowOf(conversation), clock.now(), result) ?? conversation.attempts
          work.note(claim.conversationId)
          idle.rest(conversation)
        }
      }),

    append: (claim, given, options) =>
      write(() => {
        const conversation = claimedConversation(claim)
        const before = conversation.info
        const finish = () => finishAppend(claim.conversationId, conversation, before, options)
        const numbers = plainBlockNumbers(given)
        const changes = numbers ? given : validateChangesFast(given)
        if (!numbers && involvesBlobs(changes)) return appendWithBlobs(conversation, changes, finish)
        const entries = appendChanges(conversation, changes, numbers)
        finish()
        return entries
      }),

    offer: (conversationId, event, options) => write(() => offer(conversationId, event, options)),
    async readOffers(conversationId) {
      const conversation = find(conversationId)
      return conversation ? readOpenOffers(conversation) : []
    },
    async findOffer(conversationId, eventId) {
      const offer = find(conversationId)?.offers.get(eventId)
      return offer && (offer.taken?.outcome ?? 'open')
    },
    watchOffers(listener) {
      checkOpen()
      return offerListeners.add(listener)
    },

    ...createLookUps(find),

    watch(conversationId, listener) {
      checkOpen()
      return watchers.add(conversationId, listener)
    },

    async head(conversationId) {
      const conversation = find(conversationId)
      return conversation && infoOf(conversationId, conversation)
    },

    async list(query) {
      checkOpen()
      return listConversations(conversations, query, clock.now())
    },

    exportBundle: (conversationId) =>
      write(() => {
        const conversation = conversations.get(conversationId)
        if (!conversation) throw conversationMissing(conversationId)
        const changes = conversation.journal.entries().map(({ change }) => change)
        return exportBundle(conversationId, changes, visibleTimeline(conversation), blobs)
      }),

    async importBundle(bundle, options) {
      checkOpen()
      const { conversationId: named, slices, bytes } = await unpackBundle(bundle)
      const conversationId = options?.as ?? named
      return write(async () => {
        checkConversationName(conversationId)
        if (conversations.has(conversationId)) throw conversationExists(conversationId)
        deletions.checkNotDeleting(conversationId)
        for (const content of bytes.values()) await blobs.put(content)
        const prepared = await references.prepare(slices.flat())
        const conversation = newConversation(idle.rest, ++claims)
        asBundleFailure(() => appendChanges(conversation, prepared))
        references.add(prepared)
        conversations.set(conversationId, conversation)
        work.note(conversationId)
        idle.rest(conversation)
        return { conversationId }
      })
    },

    delete: (conversationId, options = {}) => deletions.delete(conversationId, options).finally(recall.forgetMissing),
    finishDeletions: async (options = {}) => (await deletions.finishUnfinished(options)).finished,
    releaseBlobs: (refs) => write(() => references.removeUnused(refs)),

    async retain({ conversationsIdleSince, historyBefore }, options = {}) {
      const now = clock.now()
      const isIdle = ({ info, lease }: MemoryConversation) =>
        conversationsIdleSince !== undefined &&
        (info.lastActivityAt ?? '') < conversationsIdleSince &&
        !isUnfinished(info) &&
        !isHeld(lease, now)
      const unfinished = await deletions.finishUnfinished(options)
      const deleted = await deletions.deleteSelected(isIdle, options).finally(recall.forgetMissing)
      const report = { conversations: deleted.conversations, entries: 0, blobs: unfinished.blobs + deleted.blobs }
      if (historyBefore === undefined) return report
      return write(async () => {
        for (const conversation of conversations.values()) {
          const removed = removeHistory(conversation, historyBefore)
          if (removed.length > 0) recall.forget(conversation)
          report.entries += removed.length
          report.blobs += await references.remove(references.hashesIn([...removed, ...removeTakenOffers(conversation, historyBefore)]))
        }
        return report
      })
    },

    async check() {
      checkOpen()
      await blobs.check?.()
    },

    close: () =>
      exclusively(() => {
        closed = true
        watchers.clear()
        offerListeners.clear()
      }),
  }
}
