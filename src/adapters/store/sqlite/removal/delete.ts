import type { BlobStore } from '../../../../ports/blobs.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { DeleteOptions } from '../../../../ports/store/retention.ts'
import { beingDeleted } from '../../shared/conversation-info.ts'
import { type ConversationRow, leaseOf } from '../../shared/conversation-row.ts'
import { checkLeaseFree, isFree, leaseExpiry } from '../../shared/lease.ts'
import { finishAll } from '../../shared/removal/deletions.ts'
import type { Conversations } from '../conversations.ts'
import type { Database } from '../database.ts'
import { ENTRIES_AFTER } from '../journal.ts'
import type { Recall } from '../recall.ts'
import type { SqliteReceipts } from './receipts.ts'

/** A deletion that this process has begun or taken over. */
interface Deletion {
  readonly key: number
  readonly conversationId: string
  /** The epoch of the lease. If the row has another epoch, another process has taken over the deletion. */
  readonly epoch: number
}

interface DeleterParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly recall: Pick<Recall, 'removeSome'>
  readonly receipts: Omit<SqliteReceipts, 'port'>
  readonly blobs: BlobStore
  readonly clock: Clock
}

/**
 * How many blobs or entries one transaction removes. The numbers are small, because appends to other conversations wait during the
 * transaction.
 */
const BLOBS_PER_STEP = 64
const ENTRIES_PER_STEP = 1_000

/**
 * Deletes conversations in steps. Each step is a transaction, and every step can be repeated, so a deletion can be finished after a crash:
 *
 *   mark the row, which also takes the lease ─▶ files outside of the store ─▶ blobs ─▶ memory index ─▶ entries, offers ─▶ index and row
 *   ─▶ empty the write-ahead log
 *
 * Blobs are removed under the write lock. An append checks its blobs under the same lock, so no blob disappears between the check and the
 * commit.
 */
export function createDeleter({ database, conversations, recall, receipts, blobs, clock }: DeleterParts) {
  // the title is removed in this first step, because the row itself stays until the last step of the deletion
  const mark = database.writeStatement(
    `UPDATE conversations SET deleted_at = ?, title = NULL, open_turn = NULL, waiting = NULL, waits = NULL, due_at = NULL, offers = NULL
     WHERE key = ?`,
  )
  const unfinished = database.readStatement<{ id: string }>('SELECT id FROM conversations WHERE deleted_at IS NOT NULL')
  const extendLease = database.writeStatement('UPDATE conversations SET lease_expires_at = ? WHERE key = ? AND epoch = ?')
  const endLease = database.writeStatement('UPDATE conversations SET lease_expires_at = NULL, owner_id = NULL WHERE key = ? AND epoch = ?')
  const someBlobs = database.writeStatement<{ sha256: string; shared: 0 | 1 }>(
    `SELECT sha256, EXISTS (SELECT 1 FROM blob_refs AS other WHERE other.sha256 = mine.sha256 AND other.conversation <> ?1) AS shared
     FROM (SELECT DISTINCT sha256 FROM blob_refs WHERE conversation = ?1 LIMIT ${BLOBS_PER_STEP}) AS mine`,
  )
  const deleteReferences = database.writeStatement('DELETE FROM blob_refs WHERE sha256 = ? AND conversation = ?')
  const deleteSomeEntries = database.writeStatement(
    `DELETE FROM journal WHERE entry IN (SELECT entry FROM journal WHERE ${ENTRIES_AFTER} LIMIT ${ENTRIES_PER_STEP})`,
  )
  const deleteSomeOffers = database.writeStatement(
    `DELETE FROM offers WHERE number IN (SELECT number FROM offers WHERE conversation = ? LIMIT ${ENTRIES_PER_STEP})`,
  )
  const deleteRow = database.writeStatement('DELETE FROM conversations WHERE key = ?')
  const deleteBudget = database.writeStatement(`DELETE FROM budgets WHERE name = 'conversation/' || ?`)
  const setFreedText = database.writeStatement("UPDATE counters SET value = ? WHERE name = 'freed_text'")
  const freedText = database.readStatement<{ value: number }>("SELECT value FROM counters WHERE name = 'freed_text'")

  function begin({ key, id }: ConversationRow, { owner, receipt }: Pick<DeleteOptions, 'owner' | 'receipt'>): Deletion {
    const { epoch } = conversations.newLease(id, owner ?? null, clock.now())
    if (receipt !== undefined) receipts.assign(key, receipt)
    mark.run(clock.now(), key)
    return { key, conversationId: id, epoch }
  }

  /** Runs one step. Returns undefined when another process has taken over the deletion. */
  const step = <T>({ key, epoch }: Deletion, work: () => T | Promise<T>): Promise<T | undefined> =>
    database.write(() => (extendLease.run(leaseExpiry(clock.now()), key, epoch) === 1 ? work() : undefined))

  async function removeSomeBlobs({ key }: Deletion): Promise<{ readonly found: number; readonly removed: number }> {
    const found = someBlobs.all(key)
    const unshared = found.filter(({ shared }) => shared === 0)
    for (const { sha256 } of unshared) await blobs.remove(sha256)
    for (const { sha256 } of found) deleteReferences.run(sha256, key)
    const shared = found.filter((blob) => blob.shared === 1)
    receipts.addBlobs(key, { removed: unshared.map(({ sha256 }) => sha256), shared: shared.map(({ sha256 }) => sha256) })
    return { found: found.length, removed: unshared.length }
  }

  /** Counts the files outside of the store for the receipt of the deletion, before they are removed. */
  async function countFilesOnce(deletion: Deletion, countFiles: NonNullable<DeleteOptions['countFiles']>): Promise<void> {
    if (!(await step(deletion, () => receipts.needsFiles(deletion.key)))) return
    const counts = await countFiles(deletion.conversationId)
    await step(deletion, () => receipts.addFiles(deletion.key, counts))
  }

  function removeSomeSnippets({ key, conversationId }: Deletion): boolean {
    const { isDone, rows } = recall.removeSome({ id: conversationId, key })
    receipts.addRows(key, rows)
    return !isDone
  }

  /**
   * Removes everything of a conversation that `mark` has marked as deleted, and returns how many blobs were removed. After a failure,
   * the lease ends, so that another process can finish the deletion.
   */
  async function finish(deletion: Deletion, { countFiles, removeFiles }: DeleteOptions): Promise<number> {
    const { key, conversationId } = deletion
    try {
      if (countFiles) await countFilesOnce(deletion, countFiles)
      await removeFiles?.(conversationId)
      let removed = 0
      for (let found = 1; found > 0; ) {
        const some = await step(deletion, () => removeSomeBlobs(deletion))
        removed += some?.removed ?? 0
        found = some?.found ?? 0
      }
      while (await step(deletion, () => removeSomeSnippets(deletion))) {}
      while (await step(deletion, () => deleteSomeEntries.run(key, 0))) {}
      while (await step(deletion, () => deleteSomeOffers.run(key))) {}
      await step(deletion, () => {
        receipts.addRows(key, { budgets: deleteBudget.run(conversationId) })
        deleteRow.run(key) // foreign keys delete the rows of the index
        setFreedText.run(1)
      })
      return removed
    } catch (error) {
      await database.write(() => endLease.run(key, deletion.epoch)).catch(() => {}) // if this fails too, the lease expires after some time
      throw error
    }
  }

  /** Takes over an unfinished deletion. Undefined when the deletion is already finished, or when a living process works on it. */
  const takeOver = (conversationId: string, options: DeleteOptions): Promise<Deletion | undefined> =>
    database.write(() => {
      const row = conversations.findAny(conversationId)
      return row && row.deleted_at !== null && isFree(leaseOf(row), options.owner, clock.now()) ? begin(row, options) : undefined
    })

  /**
   * Empties the write-ahead log if text was deleted since the log was last emptied, because the log still contains this text. If another
   * process prevents this, the next deletion tries again.
   */
  async function emptyLog(): Promise<void> {
    if (!database.read(() => freedText.get()?.value)) return
    if (await database.emptyLog()) await database.write(() => setFreedText.run(0))
  }

  return {
    async delete(conversationId: string, options: DeleteOptions = {}): Promise<boolean> {
      const { owner } = options
      const deletion = await database.write(() => {
        const row = conversations.findAny(conversationId)
        if (!row) return undefined
        if (row.deleted_at !== null && !isFree(leaseOf(row), owner, clock.now()))
          throw beingDeleted(conversationId, row.lease_expires_at ?? clock.now())
        if (owner) checkLeaseFree(conversationId, leaseOf(row), owner, clock.now())
        return begin(row, options)
      })
      if (!deletion) return false
      await finish(deletion, options)
      await emptyLog()
      return true
    },

    /** Marks a conversation as deleted. Call it inside `database.write`. When the write has ended, call `finish` with the result. */
    begin,
    finish,

    /** Finishes unfinished deletions, and empties the write-ahead log if an earlier deletion could not empty it. */
    async finishUnfinished({ conversationId, ...options }: DeleteOptions & { readonly conversationId?: string } = {}) {
      const ids = database.read(() => unfinished.all().map(({ id }) => id))
      const wanted = conversationId === undefined ? ids : ids.filter((id) => id === conversationId)
      let removed = 0
      const finished = await finishAll(wanted, async (id) => {
        const deletion = await takeOver(id, options)
        if (deletion) removed += await finish(deletion, options)
        return deletion !== undefined
      })
      await emptyLog()
      return { finished, removed }
    },

    emptyLog,
    /** Records that text was deleted. Call it inside the transaction that deletes the text. */
    recordFreedText: () => void setFreedText.run(1),
  }
}

export type Deleter = ReturnType<typeof createDeleter>
