import type { BlobRef } from '../../../../core/block/index.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import type { BlobStore } from '../../../../ports/blobs.ts'
import type { DeleteOptions, RetentionPolicy, RetentionReport } from '../../../../ports/store/retention.ts'
import { isUnfinished } from '../../shared/conversation-info.ts'
import { type ConversationRow, infoOf, leaseOf } from '../../shared/conversation-row.ts'
import { isHeld } from '../../shared/lease.ts'
import { finishAll } from '../../shared/removal/deletions.ts'
import { outlineOf, removableEntries, type TimedEntry } from '../../shared/removal/retention.ts'
import { parseRow, type StoredRow } from '../../shared/rows.ts'
import type { Conversations } from '../conversations.ts'
import { type Database, openDatabase } from '../database.ts'
import { ENTRIES_AFTER, ENTRY_KEY, SEQ } from '../journal.ts'
import type { Offers } from '../offers.ts'
import { translateSqliteError, withReadOnly } from '../open.ts'
import type { Recall } from '../recall.ts'
import type { Deleter } from './delete.ts'

interface RemoverParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly recall: Pick<Recall, 'removeWithoutEntry'>
  readonly blobs: BlobStore
  readonly deleter: Deleter
  readonly offers: Offers
}

/**
 * Removes old entries and unused blobs, in two transactions. The first transaction deletes rows and records the blobs whose last reference
 * may have been deleted. The second transaction removes those recorded blobs to which no entry refers. If the process dies between the two,
 * the next removal deletes these blobs. Blobs are removed under the write lock. An append checks its blobs under the same lock, so no blob
 * disappears between the check and the commit.
 */
export function createRemover({ database, conversations, recall, blobs, deleter, offers }: RemoverParts) {
  const allConversations = database.writeStatement<ConversationRow>('SELECT * FROM conversations WHERE deleted_at IS NULL')
  const inactiveSince = database.writeStatement<ConversationRow>(
    'SELECT * FROM conversations WHERE deleted_at IS NULL AND last_activity_at < ?',
  )
  const frameOf = database.writeStatement<StoredRow>('SELECT seq, body FROM frames WHERE conversation = ?')
  const entriesAfter = database.writeStatement<StoredRow & { ts: string }>(
    `SELECT ${SEQ} AS seq, ts, body FROM journal WHERE ${ENTRIES_AFTER} ORDER BY entry`,
  )
  const deleteEntry = database.writeStatement(`DELETE FROM journal WHERE entry = ${ENTRY_KEY}`)
  // a negative `seq` is a reference of an offer
  const withoutEntry = 'conversation = ?1 AND seq > 0 AND NOT EXISTS (SELECT 1 FROM journal WHERE entry = (conversation << 32 | seq))'
  const deleteIndexRows = ['paths', 'calls', 'turns', 'blob_refs'].map((table) =>
    database.writeStatement(`DELETE FROM ${table} WHERE ${withoutEntry}`),
  )
  const recordCandidatesWithoutEntry = database.writeStatement(
    `INSERT INTO unreferenced_blobs SELECT DISTINCT sha256 FROM blob_refs WHERE ${withoutEntry} ON CONFLICT DO NOTHING`,
  )
  const candidates = database.writeStatement<{ sha256: string; needed: 0 | 1 }>(
    'SELECT sha256, EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.sha256 = unreferenced_blobs.sha256) AS needed FROM unreferenced_blobs',
  )
  const someCandidate = database.readStatement('SELECT 1 FROM unreferenced_blobs LIMIT 1')
  const recordCandidate = database.writeStatement('INSERT INTO unreferenced_blobs VALUES (?) ON CONFLICT DO NOTHING')
  const deleteCandidates = database.writeStatement('DELETE FROM unreferenced_blobs')

  function removeHistory({ key, id, open_turn }: ConversationRow, before: string): number {
    const frame = frameOf.get(key)
    if (!frame) return 0
    const visible = new Set((parseRow(id, frame) as { order: readonly string[] }).order) // every frame has the field `order`
    const entries = Array.from(
      entriesAfter.iterate(key, 0),
      (row): TimedEntry => ({ seq: row.seq, ts: row.ts, change: outlineOf(parseRow(id, row) as Change) }), // only valid changes are stored
    )
    const removable = removableEntries(entries, { before, frameSeq: frame.seq, visible, openTurn: open_turn })
    if (removable.length === 0) return 0
    for (const seq of removable) deleteEntry.run(key, seq)
    recordCandidatesWithoutEntry.run(key)
    for (const statement of deleteIndexRows) statement.run(key)
    recall.removeWithoutEntry({ id, key })
    deleter.recordFreedText()
    return removable.length
  }

  /** Removes offers that were taken before this time, and records their blobs. */
  function removeOffers(before: string): void {
    const removed = offers.removeTaken(before)
    for (const sha256 of removed.hashes) recordCandidate.run(sha256)
    if (removed.count > 0) deleter.recordFreedText()
  }

  /** Removes the recorded blobs to which no entry refers, and returns how many were removed. */
  async function removeCandidates(): Promise<number> {
    let removed = 0
    for (const { sha256, needed } of candidates.all()) {
      if (needed) continue
      await blobs.remove(sha256)
      removed += 1
    }
    deleteCandidates.run()
    return removed
  }

  return {
    /** Removes the blobs that a process had recorded before it died. */
    async removeRecorded(): Promise<void> {
      if (database.read(() => someCandidate.get())) await database.write(removeCandidates)
    },

    releaseBlobs: (refs: readonly BlobRef[]): Promise<void> =>
      database.write(async () => {
        for (const { sha256 } of refs) recordCandidate.run(sha256)
        await removeCandidates()
      }),

    async retain(
      { conversationsIdleSince, historyBefore }: RetentionPolicy,
      options: DeleteOptions,
      now: string,
    ): Promise<RetentionReport> {
      const isIdle = (row: ConversationRow) =>
        conversationsIdleSince !== undefined &&
        row.last_activity_at < conversationsIdleSince &&
        !isUnfinished(infoOf(row)) &&
        !isHeld(leaseOf(row), now)
      const unfinished = await deleter.finishUnfinished(options)
      let removedBlobs = unfinished.removed
      const idle =
        conversationsIdleSince === undefined ? [] : await database.write(() => inactiveSince.all(conversationsIdleSince).filter(isIdle))
      const deleted = await finishAll(
        idle.map(({ id }) => id),
        async (id) => {
          const deletion = await database.write(() => {
            const row = conversations.find(id)
            return row && isIdle(row) ? deleter.begin(row, options) : undefined // another process may have used the conversation meanwhile
          })
          if (deletion) removedBlobs += await deleter.finish(deletion, options)
          return deletion !== undefined
        },
      )
      let entries = 0
      for (const row of historyBefore === undefined ? [] : await database.write(() => allConversations.all())) {
        entries += await database.write(() => {
          const current = conversations.find(row.id) // undefined if the conversation was deleted meanwhile
          return current ? removeHistory(current, historyBefore ?? '') : 0
        })
      }
      if (historyBefore !== undefined) await database.write(() => removeOffers(historyBefore))
      removedBlobs += await database.write(removeCandidates)
      await deleter.emptyLog()
      return { conversations: deleted.length, entries, blobs: removedBlobs }
    },
  }
}

/*
 * A blob is put before the entry that refers to it is appended. If the process dies in between, no entry refers to the blob. The functions
 * below find and remove such blobs. Callers pass only old blobs, because the entry of a new blob may still be appended.
 */

const FIND_REFERENCE = 'SELECT 1 FROM blob_refs WHERE sha256 = ? LIMIT 1'

/** Returns those of the given blobs to which no entry refers. The file is not changed, and a file of an older version is not migrated. */
export function findUnreferenced<Blob extends { readonly sha256: string }>(file: string, blobs: readonly Blob[]): readonly Blob[] {
  try {
    return withReadOnly(file, (database) => {
      const reference = database.prepare(FIND_REFERENCE)
      return blobs.filter(({ sha256 }) => reference.get(sha256) === undefined)
    })
  } catch (error) {
    throw translateSqliteError(error, file)
  }
}

/** How many blobs are removed in one transaction. Appends wait for this transaction, so the number is small. */
const SWEEP_BATCH = 64

/**
 * Removes those candidates to which no entry refers, and returns them. An append that needs a candidate waits until the removal is done.
 */
export async function sweepUnreferenced<Blob extends { readonly sha256: string }>(
  file: string,
  candidates: readonly Blob[],
  remove: (sha256: string) => Promise<boolean>,
): Promise<readonly Blob[]> {
  const database = await openDatabase(file)
  try {
    const reference = database.writeStatement(FIND_REFERENCE)
    const removed: Blob[] = []
    for (let from = 0; from < candidates.length; from += SWEEP_BATCH) {
      await database.write(async () => {
        for (const blob of candidates.slice(from, from + SWEEP_BATCH)) {
          if (reference.get(blob.sha256) === undefined && (await remove(blob.sha256))) removed.push(blob)
        }
      })
    }
    return removed
  } finally {
    await database.close()
  }
}
