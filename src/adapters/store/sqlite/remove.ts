import type { BlobRef } from '../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { RetentionPolicy, RetentionReport } from '../../../ports/store.ts'
import { isUnfinished } from '../shared/conversation-list.ts'
import { isAlive } from '../shared/lease.ts'
import { removableEntries, type TimedEntry } from '../shared/retention.ts'
import { type ConversationRow, type Conversations, infoOf, leaseOf } from './conversations.ts'
import { type Database, openDatabase } from './database.ts'
import { translateSqliteError, withReadOnly } from './open.ts'
import { ENTRIES_AFTER, ENTRY_KEY, parseRow, SEQ, type StoredRow } from './rows.ts'

/**
 * Letting go, in two transactions. The first removes rows and writes down which blobs nobody may need any more; the second removes
 * those files. A crash between them, or in the middle of the second, leaves files too many and never rows without their blobs; what
 * is left over goes with the next removal. Files are removed while the write lock is held: an append looks for its blobs under the
 * same lock.
 */
export function createRemover(database: Database, conversations: Conversations, blobs: BlobStore) {
  const every = database.writing<ConversationRow>('SELECT * FROM conversations')
  const remove = database.writing('DELETE FROM conversations WHERE key = ?')
  const frameOf = database.writing<StoredRow>('SELECT seq, body FROM frames WHERE conversation = ?')
  const rows = database.writing<StoredRow & { ts: string }>(
    `SELECT ${SEQ} AS seq, ts, body FROM journal WHERE ${ENTRIES_AFTER} ORDER BY entry`,
  )
  const removeRow = database.writing(`DELETE FROM journal WHERE entry = ${ENTRY_KEY}`)
  const removeRows = database.writing(`DELETE FROM journal WHERE ${ENTRIES_AFTER}`)
  const orphans = 'conversation = ?1 AND NOT EXISTS (SELECT 1 FROM journal WHERE entry = (conversation << 32 | seq))'
  const removeIndex = ['paths', 'calls', 'turns', 'blob_refs'].map((table) => database.writing(`DELETE FROM ${table} WHERE ${orphans}`))
  const suspect = (where: string) =>
    database.writing(`INSERT INTO unreferenced_blobs SELECT DISTINCT sha256 FROM blob_refs WHERE ${where} ON CONFLICT DO NOTHING`)
  const suspectOrphans = suspect(orphans)
  const suspectAll = suspect('conversation = ?')
  const suspects = database.writing<{ sha256: string; needed: 0 | 1 }>(
    'SELECT sha256, EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.sha256 = unreferenced_blobs.sha256) AS needed FROM unreferenced_blobs',
  )
  const suspectOne = database.writing('INSERT INTO unreferenced_blobs VALUES (?) ON CONFLICT DO NOTHING')
  const forgetSuspects = database.writing('DELETE FROM unreferenced_blobs')

  function removeConversation(key: number): void {
    suspectAll.run(key)
    removeRows.run(key, 0)
    remove.run(key) // what is indexed goes with it
  }

  function removeHistory({ key, id, open_turn }: ConversationRow, before: string): number {
    const frame = frameOf.get(key)
    if (!frame) return 0
    const visible = new Set((parseRow(id, frame) as { order: readonly string[] }).order) // a frame has its order
    const entries = Array.from(
      rows.each(key, 0),
      (row): TimedEntry => ({ seq: row.seq, ts: row.ts, change: outline(parseRow(id, row) as Change) }),
    ) // rows were checked when written
    const removable = removableEntries(entries, { before, frameSeq: frame.seq, visible, openTurn: open_turn })
    if (removable.length === 0) return 0
    for (const seq of removable) removeRow.run(key, seq)
    suspectOrphans.run(key)
    for (const statement of removeIndex) statement.run(key)
    return removable.length
  }

  /** Gives how many blobs were removed. */
  async function sweep(): Promise<number> {
    let removed = 0
    for (const { sha256, needed } of suspects.all()) {
      if (needed) continue
      await blobs.remove(sha256)
      removed += 1
    }
    forgetSuspects.run()
    return removed
  }

  return {
    async delete(conversationId: string): Promise<boolean> {
      const known = await database.write(() => {
        const row = conversations.find(conversationId)
        if (row) removeConversation(row.key)
        return row !== undefined
      })
      if (known) await database.write(sweep)
      return known
    },

    letGo: (given: readonly BlobRef[]): Promise<void> =>
      database.write(async () => {
        for (const { sha256 } of given) suspectOne.run(sha256)
        await sweep()
      }),

    async retain({ conversationsIdleSince, historyBefore }: RetentionPolicy, now: string): Promise<RetentionReport> {
      const isIdle = (row: ConversationRow) =>
        conversationsIdleSince !== undefined &&
        row.last_activity_at < conversationsIdleSince &&
        !isUnfinished(infoOf(row)) &&
        !isAlive(leaseOf(row), now)
      const gone = await database.write(() => {
        const idle = every.all().filter(isIdle)
        for (const { key } of idle) removeConversation(key)
        return idle.length
      })
      let entries = 0
      for (const row of historyBefore === undefined ? [] : await database.write(() => every.all())) {
        entries += await database.write(() => removeHistory(conversations.find(row.id) ?? row, historyBefore ?? ''))
      }
      return { conversations: gone, entries, blobs: await database.write(sweep) }
    },
  }
}

/** As much of a change as retention looks at, so that a long history is never held whole. */
function outline(change: Change): Change {
  const blocks = blocksOfChange(change).map(({ id, turn_id }) => ({ id, turn_id }))
  const { type } = change
  const turnId = 'turn_id' in change ? change.turn_id : null
  return { type, turn_id: turnId, ids: 'ids' in change ? change.ids : [], blocks, timeline: { blocks } } as unknown as Change
}

/**
 * A blob is put before the entry that refers to it, so a process that dies in between leaves one that nobody will ever ask for. Which
 * they are only the database knows, and how old only the blob store: age is what tells them from those whose entry is still to come.
 */

const FIND_REFERENCE = 'SELECT 1 FROM blob_refs WHERE sha256 = ? LIMIT 1'

/** Nothing is written, also not to a file of an older version. */
export function findUnreferenced<Blob extends { readonly sha256: string }>(file: string, blobs: readonly Blob[]): readonly Blob[] {
  try {
    return withReadOnly(file, (database) => {
      const referred = database.prepare(FIND_REFERENCE)
      return blobs.filter(({ sha256 }) => referred.get(sha256) === undefined)
    })
  } catch (error) {
    throw translateSqliteError(error, file)
  }
}

/** So many at a time: whoever wants to append waits while they go. */
const SWEEP_BATCH = 64

/** Under the lock of appends, which look for their blobs under it too: what is referred to stays, whoever wrote it and when. */
export async function sweepUnreferenced<Blob extends { readonly sha256: string }>(
  file: string,
  suspects: readonly Blob[],
  remove: (sha256: string) => Promise<boolean>,
): Promise<readonly Blob[]> {
  const database = await openDatabase(file)
  try {
    const referred = database.writing(FIND_REFERENCE)
    const removed: Blob[] = []
    for (let from = 0; from < suspects.length; from += SWEEP_BATCH) {
      await database.write(async () => {
        for (const blob of suspects.slice(from, from + SWEEP_BATCH)) {
          if (referred.get(blob.sha256) === undefined && (await remove(blob.sha256))) removed.push(blob)
        }
      })
    }
    return removed
  } finally {
    await database.close()
  }
}
