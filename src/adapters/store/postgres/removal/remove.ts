import type { BlobRef } from '../../../../core/block/index.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import type { DeleteOptions, RetentionPolicy, RetentionReport } from '../../../../ports/store/retention.ts'
import { isUnfinished } from '../../shared/conversation-info.ts'
import { type ConversationRow, infoOf, leaseOf } from '../../shared/conversation-row.ts'
import { isHeld } from '../../shared/lease.ts'
import { finishAll } from '../../shared/removal/deletions.ts'
import { outlineOf, removableEntries, type TimedEntry } from '../../shared/removal/retention.ts'
import { parseRow, type StoredRow } from '../../shared/rows.ts'
import type { BlobsWithin } from '../blobs/blobs.ts'
import { BLOBS_PER_STEP, lockBlobs, pauseBetweenSteps, removeBlobs } from '../blobs/removal.ts'
import { type Conversations, findNewerEntry, LOCK } from '../conversations.ts'
import type { Database, Queries } from '../database.ts'
import type { Offers } from '../offers.ts'
import type { Recall } from '../recall/recall.ts'
import type { Deleter } from './delete.ts'

interface RemoverParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly blobsWithin: BlobsWithin
  readonly recall: Pick<Recall, 'removeWithoutEntry'>
  readonly deleter: Deleter
  readonly offers: Offers
}

/**
 * Removes old entries and unused blobs. The first transaction deletes rows and records the blobs whose last reference may have been
 * deleted. Further transactions remove those recorded blobs to which no entry refers, some blobs each. If the process dies before the last
 * one, the next removal deletes these blobs.
 */
export function createRemover({ database, conversations, blobsWithin, recall, deleter, offers }: RemoverParts) {
  const recordCandidates = (queries: Queries, hashes: readonly string[]) =>
    queries.run('INSERT INTO unreferenced_blobs SELECT DISTINCT unnest($1::text[]) AS sha256 ORDER BY sha256 ON CONFLICT DO NOTHING', [
      hashes,
    ])

  async function removeHistory(queries: Queries, { key, id, open_turn }: ConversationRow, before: string): Promise<number> {
    const [frame] = await queries.all<StoredRow>('SELECT seq, body FROM frames WHERE conversation = $1', [key])
    // this version can not know which entries a change of a newer version needs
    if (!frame || (await findNewerEntry(queries, key))) return 0
    const visible = new Set((parseRow(id, frame) as { order: readonly string[] }).order) // every frame has the field `order`
    const entries: TimedEntry[] = []
    for (let after = 0; ; ) {
      const page = await queries.all<StoredRow & { ts: string }>(
        'SELECT seq, ts, body FROM journal WHERE conversation = $1 AND seq > $2 ORDER BY seq LIMIT 500',
        [key, after],
      )
      for (const row of page) entries.push({ seq: row.seq, ts: row.ts, change: outlineOf(parseRow(id, row) as Change) }) // only valid changes are stored
      const last = page.at(-1)
      if (!last) break
      after = last.seq
    }
    const removable = removableEntries(entries, { before, frameSeq: frame.seq, visible, openTurn: open_turn })
    // also without such entries, because an older version of Daybook may have removed entries and kept their snippets
    if (removable.length === 0) {
      await recall.removeWithoutEntry(queries, { id, key })
      return 0
    }
    const place = [key, removable]
    await queries.run('DELETE FROM journal WHERE conversation = $1 AND seq = ANY ($2::int[])', place)
    await queries.run('DELETE FROM names WHERE conversation = $1 AND seq = ANY ($2::int[])', place)
    const references = await queries.all<{ sha256: string }>(
      'DELETE FROM blob_refs WHERE conversation = $1 AND seq = ANY ($2::bigint[]) RETURNING sha256',
      place,
    )
    await recordCandidates(
      queries,
      references.map(({ sha256 }) => sha256),
    )
    await recall.removeWithoutEntry(queries, { id, key })
    return removable.length
  }

  async function removeSomeCandidates(queries: Queries): Promise<{ readonly found: number; readonly removed: number }> {
    await lockBlobs(queries, 'alone')
    const found = await queries.all<{ sha256: string; needed: boolean }>(
      `SELECT sha256, EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.sha256 = unreferenced_blobs.sha256) AS needed
       FROM unreferenced_blobs LIMIT ${BLOBS_PER_STEP} FOR UPDATE`,
    )
    const unneeded = found.filter(({ needed }) => !needed).map(({ sha256 }) => sha256)
    await removeBlobs(queries, blobsWithin, unneeded)
    await queries.run('DELETE FROM unreferenced_blobs WHERE sha256 = ANY ($1::text[])', [found.map(({ sha256 }) => sha256)])
    return { found: found.length, removed: unneeded.length }
  }

  /** Removes the recorded blobs to which no entry refers, and returns how many were removed. */
  async function removeCandidates(): Promise<number> {
    let removed = 0
    while ((await database.all('SELECT 1 FROM unreferenced_blobs LIMIT 1')).length > 0) {
      const some = await database.repeat(removeSomeCandidates)
      removed += some.removed
      if (some.found < BLOBS_PER_STEP) break
      await pauseBetweenSteps()
    }
    return removed
  }

  return {
    /** Finishes a removal whose process died. Removes those blobs in `unreferenced_blobs` to which no entry refers. */
    async removeRecorded(): Promise<void> {
      await removeCandidates()
    },

    async releaseBlobs(refs: readonly BlobRef[]): Promise<void> {
      const hashes = refs.map(({ sha256 }) => sha256)
      // A transaction of its own: if it also removed blobs, it would lock rows before it takes the lock of blobs. Two processes could then
      // wait for each other.
      await database.repeat((queries) => recordCandidates(queries, hashes))
      await removeCandidates()
    },

    async retain(
      { conversationsIdleSince, historyBefore }: RetentionPolicy,
      options: DeleteOptions,
      now: string,
    ): Promise<RetentionReport> {
      const isIdle = (row: ConversationRow) =>
        conversationsIdleSince !== undefined &&
        row.deleted_at === null &&
        row.last_activity_at < conversationsIdleSince &&
        !isUnfinished(infoOf(row)) &&
        !isHeld(leaseOf(row), now)
      let removedBlobs = (await deleter.finishUnfinished(options)).removed
      const idle =
        conversationsIdleSince === undefined
          ? []
          : await database.all<{ id: string }>('SELECT id FROM conversations WHERE deleted_at IS NULL AND last_activity_at < $1', [
              conversationsIdleSince,
            ])
      const deleted = await finishAll(
        idle.map(({ id }) => id),
        async (id) => {
          const deletion = await deleter.beginIf(id, options, isIdle) // another process may have used the conversation meanwhile
          if (deletion) removedBlobs += await deleter.finish(deletion, options)
          return deletion !== undefined
        },
      )
      let entries = 0
      if (historyBefore !== undefined) {
        for (const { id } of await database.all<{ id: string }>('SELECT id FROM conversations WHERE deleted_at IS NULL ORDER BY key')) {
          entries += await database.repeat(async (queries) => {
            const row = await conversations.find(queries, id, LOCK) // undefined if the conversation was deleted meanwhile
            if (!row) return 0
            const unused = await offers.removeTaken(queries, row.key, historyBefore)
            if (unused.length > 0) await recordCandidates(queries, unused)
            return removeHistory(queries, row, historyBefore)
          })
        }
      }
      removedBlobs += await removeCandidates()
      return { conversations: deleted.length, entries, blobs: removedBlobs }
    },
  }
}
