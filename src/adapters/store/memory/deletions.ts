import type { Clock } from '../../../ports/clock.ts'
import { REMOVED_BLOBS } from '../../../ports/store/receipts.ts'
import type { DeleteOptions } from '../../../ports/store/retention.ts'
import type { Owner } from '../../../ports/store.ts'
import { beingDeleted } from '../shared/conversation-info.ts'
import { checkLeaseFree, isFree, type Lease, leaseExpiry } from '../shared/lease.ts'
import { finishAll } from '../shared/removal/deletions.ts'
import type { createBlobReferences } from './blob-references.ts'
import type { MemoryConversation } from './conversation.ts'
import type { createReceipts } from './receipts.ts'

/**
 * A deletion that is not finished: the owner that works on it, the hashes of the blobs to which the conversation referred, and its receipt.
 */
interface Deletion {
  readonly lease: Lease
  readonly hashes: string[]
  readonly receipt: string | undefined
}

interface DeletionParts {
  readonly conversations: Map<string, MemoryConversation>
  readonly references: ReturnType<typeof createBlobReferences>
  readonly receipts: Omit<ReturnType<typeof createReceipts>, 'port'>
  readonly clock: Clock
  newEpoch(): number
  /** Called with a conversation whose deletion has begun. */
  onDelete(conversation: MemoryConversation): void
  /** Removes the budget of a conversation. Returns whether the conversation had a budget. */
  removeBudget(conversationId: string): boolean
  /** Runs `work` while no other work writes to the store. */
  write<T>(work: () => T | Promise<T>): Promise<T>
}

/** The deletions of conversations in memory. A conversation whose deletion has begun is no longer in `conversations`. */
export function createDeletions({ conversations, references, receipts, clock, newEpoch, onDelete, removeBudget, write }: DeletionParts) {
  const deletions = new Map<string, Deletion>()

  /** Stores that `owner` works on the deletion, with a new lease. If `owner` is undefined, any agent may take over the deletion. */
  function hold(conversationId: string, { hashes, receipt }: Pick<Deletion, 'hashes' | 'receipt'>, owner: Owner | undefined): Deletion {
    const lease = { epoch: newEpoch(), owner: owner ?? null, expiresAt: owner ? leaseExpiry(clock.now()) : null }
    const deletion = { lease, hashes, receipt }
    deletions.set(conversationId, deletion)
    return deletion
  }

  function begin(conversationId: string, conversation: MemoryConversation, { owner, receipt }: DeleteOptions): Deletion {
    conversations.delete(conversationId)
    const { offers, schedules } = conversation
    const entries = conversation.journal.entries()
    onDelete(conversation)
    const changes = [...entries, ...offers.values()].map(({ change }) => change)
    receipts.add(receipt, conversationId, { conversations: 1, journal: entries.length, offers: offers.size, schedules: schedules.size })
    return hold(conversationId, { hashes: references.hashesIn(changes), receipt }, owner)
  }

  /** Removes the files and blobs of a deleted conversation. Returns the number of removed blobs. If it fails, any agent may try again. */
  async function finish(conversationId: string, deletion: Deletion, options: DeleteOptions): Promise<number> {
    const isOurs = () => deletions.get(conversationId) === deletion // false when another owner has taken over the deletion
    const { hashes, receipt } = deletion
    try {
      if (options.countFiles && receipts.needsFiles(receipt, conversationId))
        receipts.addFiles(receipt, conversationId, await options.countFiles(conversationId))
      await options.removeFiles?.(conversationId)
      return await write(async () => {
        if (!isOurs()) return 0
        const all = [...hashes]
        const removed = await references.remove(hashes)
        const counts = { [REMOVED_BLOBS]: removed, budgets: Number(removeBudget(conversationId)) }
        receipts.end(receipt, conversationId, counts, all.filter(references.has))
        deletions.delete(conversationId)
        return removed
      })
    } catch (error) {
      if (isOurs()) hold(conversationId, deletion, undefined)
      throw error
    }
  }

  function checkNotDeleting(conversationId: string): void {
    const deleting = deletions.get(conversationId)
    if (deleting) throw beingDeleted(conversationId, deleting.lease.expiresAt ?? clock.now())
  }

  return {
    /** Throws `conversation.busy` for a conversation whose deletion is not finished. */
    checkNotDeleting,

    async delete(conversationId: string, options: DeleteOptions): Promise<boolean> {
      const { owner } = options
      const deletion = await write(() => {
        const unfinished = deletions.get(conversationId)
        if (unfinished) {
          if (!isFree(unfinished.lease, owner, clock.now())) checkNotDeleting(conversationId)
          return hold(conversationId, unfinished, owner)
        }
        const conversation = conversations.get(conversationId)
        if (conversation && owner) checkLeaseFree(conversationId, conversation.lease, owner, clock.now())
        return conversation && begin(conversationId, conversation, options)
      })
      if (deletion) await finish(conversationId, deletion, options)
      return deletion !== undefined
    },

    /** Deletes the conversations for which `isSelected` returns true, and returns how many conversations and blobs were removed. */
    async deleteSelected(isSelected: (conversation: MemoryConversation) => boolean, options: DeleteOptions) {
      let blobs = 0
      const deleted = await finishAll([...conversations.keys()], async (id) => {
        const conversation = conversations.get(id)
        if (!conversation || !isSelected(conversation)) return false
        blobs += await finish(id, begin(id, conversation, options), options)
        return true
      })
      return { conversations: deleted.length, blobs }
    },

    /** Finishes deletions on which no living owner works. Returns the ids of their conversations, and how many blobs were removed. */
    async finishUnfinished({ conversationId, ...options }: DeleteOptions & { readonly conversationId?: string }) {
      let blobs = 0
      const ids = conversationId === undefined ? [...deletions.keys()] : [conversationId]
      const finished = await finishAll(ids, async (id) => {
        const unfinished = deletions.get(id)
        if (!unfinished || !isFree(unfinished.lease, options.owner, clock.now())) return false
        blobs += await finish(id, hold(id, unfinished, options.owner), options)
        return true
      })
      return { finished, blobs }
    },
  }
}
