import type { Clock } from '../../../../ports/clock.ts'
import type { DeleteOptions } from '../../../../ports/store/retention.ts'
import { beingDeleted } from '../../shared/conversation-info.ts'
import { type ConversationRow, leaseOf } from '../../shared/conversation-row.ts'
import { checkLeaseFree, isFree, leaseExpiry } from '../../shared/lease.ts'
import { finishAll } from '../../shared/removal/deletions.ts'
import type { BlobsWithin } from '../blobs/blobs.ts'
import { BLOBS_PER_STEP, lockBlobs, pauseBetweenSteps, removeBlobs } from '../blobs/removal.ts'
import { type Conversations, LOCK } from '../conversations.ts'
import type { Database, Queries } from '../database.ts'
import type { Recall } from '../recall/recall.ts'
import type { PostgresReceipts } from './receipts.ts'

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
  readonly blobsWithin: BlobsWithin
  readonly recall: Pick<Recall, 'removeSome'>
  readonly receipts: Omit<PostgresReceipts, 'port'>
  readonly clock: Clock
  onDeleted(conversationId: string): void
}

/** How many entries one transaction removes. */
const ENTRIES_PER_STEP = 5_000

/**
 * Deletes conversations in steps. Each step is a transaction, and every step can be repeated, so a deletion can be finished after a crash:
 *
 *   mark the row, which also takes the lease ─▶ files outside of the store ─▶ blobs ─▶ memory index ─▶ entries ─▶ index
 *   and row
 */
export function createDeleter({ database, conversations, blobsWithin, recall, receipts, clock, onDeleted }: DeleterParts) {
  type Begin = Pick<DeleteOptions, 'owner' | 'receipt'>

  async function begin(queries: Queries, { key, id }: ConversationRow, { owner, receipt }: Begin): Promise<Deletion> {
    const { epoch } = await conversations.newLease(queries, key, owner ?? null, clock.now())
    if (receipt !== undefined) await receipts.assign(queries, key, receipt)
    // the title is removed in this first step, because the row itself stays until the last step of the deletion
    await queries.run(
      `UPDATE conversations SET deleted_at = $1, title = NULL, open_turn = NULL, waiting = NULL, waits = NULL, due_at = NULL, offers = NULL
       WHERE key = $2`,
      [clock.now(), key],
    )
    await queries.run('DELETE FROM titles WHERE conversation = $1', [key])
    return { key, conversationId: id, epoch }
  }

  /**
   * Begins the deletion of a conversation if `condition` is true for its row. Otherwise, and if the conversation does not exist, the result
   * is undefined. If the connection is lost, the first attempt may have begun the deletion. In this case the row has the epoch of that
   * attempt.
   */
  function beginIf(conversationId: string, options: Begin, condition: (row: ConversationRow) => boolean): Promise<Deletion | undefined> {
    let begun: Deletion | undefined
    return database.repeat(async (queries) => {
      const row = await conversations.findAny(queries, conversationId, LOCK)
      if (row && row.epoch === begun?.epoch) return begun
      begun = row && condition(row) ? await begin(queries, row, options) : undefined
      return begun
    })
  }

  /** Runs one step. Returns undefined when another process has taken over the deletion. */
  const step = <T>({ key, epoch }: Deletion, work: (queries: Queries) => Promise<T>, prepare = async (_: Queries) => {}) =>
    database.repeat(async (queries): Promise<T | undefined> => {
      await prepare(queries)
      const sql = 'UPDATE conversations SET lease_expires_at = $1 WHERE key = $2 AND epoch = $3'
      const isOurs = (await queries.run(sql, [leaseExpiry(clock.now()), key, epoch])) === 1
      return isOurs ? work(queries) : undefined
    })

  async function removeSomeBlobs(queries: Queries, { key }: Deletion): Promise<{ readonly found: number; readonly removed: number }> {
    const found = await queries.all<{ sha256: string; shared: boolean }>(
      `SELECT sha256, EXISTS (SELECT 1 FROM blob_refs AS other WHERE other.sha256 = mine.sha256 AND other.conversation <> $1) AS shared
       FROM (SELECT DISTINCT sha256 FROM blob_refs WHERE conversation = $1 LIMIT ${BLOBS_PER_STEP}) AS mine`,
      [key],
    )
    const unshared = found.filter(({ shared }) => !shared)
    await removeBlobs(
      queries,
      blobsWithin,
      unshared.map(({ sha256 }) => sha256),
    )
    await queries.run('DELETE FROM blob_refs WHERE conversation = $1 AND sha256 = ANY ($2::text[])', [
      key,
      found.map(({ sha256 }) => sha256),
    ])
    const shared = found.filter((blob) => blob.shared)
    await receipts.addBlobs(queries, key, { removed: unshared.map(({ sha256 }) => sha256), shared: shared.map(({ sha256 }) => sha256) })
    return { found: found.length, removed: unshared.length }
  }

  /**
   * A deletion takes the lock of blobs before the lock of the row, as an append does. Otherwise a deletion and an append could wait for
   * each other.
   */
  const lockAllBlobs = (queries: Queries) => lockBlobs(queries, 'alone')

  async function removeSomeSnippets(queries: Queries, { key, conversationId }: Deletion): Promise<boolean> {
    const { isDone, rows } = await recall.removeSome(queries, { id: conversationId, key })
    await receipts.addRows(queries, key, rows)
    return !isDone
  }

  const removeSomeEntries = (queries: Queries, { key }: Deletion) =>
    queries.run(
      `DELETE FROM journal WHERE conversation = $1 AND seq IN
       (SELECT seq FROM journal WHERE conversation = $1 ORDER BY seq LIMIT ${ENTRIES_PER_STEP})`,
      [key],
    )

  /** Counts the files outside of the store for the receipt of the deletion, before they are removed. */
  async function countFilesOnce(deletion: Deletion, countFiles: NonNullable<DeleteOptions['countFiles']>): Promise<void> {
    if (!(await step(deletion, (queries) => receipts.needsFiles(queries, deletion.key)))) return
    const counts = await countFiles(deletion.conversationId)
    await step(deletion, (queries) => receipts.addFiles(queries, deletion.key, counts))
  }

  /**
   * Removes everything of a conversation that `begin` has marked as deleted, and returns how many blobs were removed. After a failure, the
   * lease ends, so that another process can finish the deletion.
   */
  async function finish(deletion: Deletion, { countFiles, removeFiles }: DeleteOptions): Promise<number> {
    const { key, conversationId, epoch } = deletion
    try {
      onDeleted(conversationId)
      if (countFiles) await countFilesOnce(deletion, countFiles)
      await removeFiles?.(conversationId)
      let removed = 0
      for (;;) {
        const some = await step(deletion, (queries) => removeSomeBlobs(queries, deletion), lockAllBlobs)
        removed += some?.removed ?? 0
        if (!some || some.found < BLOBS_PER_STEP) break
        await pauseBetweenSteps()
      }
      while (await step(deletion, (queries) => removeSomeSnippets(queries, deletion))) {}
      while (await step(deletion, (queries) => removeSomeEntries(queries, deletion))) {}
      await step(deletion, async (queries) => {
        const budgets = await queries.run(`DELETE FROM budgets WHERE name = 'conversation/' || $1`, [conversationId])
        await receipts.addRows(queries, key, { budgets })
        await queries.run('DELETE FROM conversations WHERE key = $1', [key])
      })
      return removed
    } catch (error) {
      const sql = 'UPDATE conversations SET lease_expires_at = NULL, owner_id = NULL WHERE key = $1 AND epoch = $2'
      await database.statements.run(sql, [key, epoch]).catch(() => {}) // if this fails too, the lease expires after some time
      throw error
    }
  }

  /** Takes over an unfinished deletion. Undefined when the deletion is already finished, or when a living process works on it. */
  const takeOver = (conversationId: string, options: DeleteOptions): Promise<Deletion | undefined> =>
    beginIf(conversationId, options, (row) => row.deleted_at !== null && isFree(leaseOf(row), options.owner, clock.now()))

  return {
    async delete(conversationId: string, options: DeleteOptions = {}): Promise<boolean> {
      const { owner } = options
      const deletion = await beginIf(conversationId, options, (row) => {
        if (row.deleted_at !== null && !isFree(leaseOf(row), owner, clock.now()))
          throw beingDeleted(conversationId, row.lease_expires_at ?? clock.now())
        if (owner) checkLeaseFree(conversationId, leaseOf(row), owner, clock.now())
        return true
      })
      if (!deletion) return false
      await finish(deletion, options)
      return true
    },

    /** Marks a conversation as deleted. The caller then calls `finish` with the result. */
    beginIf,
    finish,

    /** Finishes unfinished deletions. */
    async finishUnfinished({ conversationId, ...options }: DeleteOptions & { readonly conversationId?: string } = {}) {
      const rows = await database.all<{ id: string }>('SELECT id FROM conversations WHERE deleted_at IS NOT NULL')
      const wanted = rows.map(({ id }) => id).filter((id) => conversationId === undefined || id === conversationId)
      let removed = 0
      const finished = await finishAll(wanted, async (id) => {
        const deletion = await takeOver(id, options)
        if (deletion) removed += await finish(deletion, options)
        return deletion !== undefined
      })
      return { finished, removed }
    },
  }
}

export type Deleter = ReturnType<typeof createDeleter>
