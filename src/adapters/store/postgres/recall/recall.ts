import { hash } from 'node:crypto'
import type { MemoryIndex } from '../../../../ports/store/memory-index.ts'
import type { Counts } from '../../../../ports/store/receipts.ts'
import type { ConversationRow } from '../../shared/conversation-row.ts'
import { createCatchUp, type IndexStep, type Position } from '../../shared/recall/catch-up.ts'
import { createMemoryIndex } from '../../shared/recall/memory-index.ts'
import { runLater } from '../../shared/recall/steps.ts'
import { folderOf } from '../../shared/recall/tables.ts'
import { createMemoryVectors } from '../../shared/recall/vectors.ts'
import { type IndexedEntry, indexEntries, removeSnippets } from '../../shared/recall/write.ts'
import { isStorableId } from '../conversation-columns.ts'
import { type Database, type Queries, SHARED_ROW_IDLE_MS } from '../database.ts'
import type { Reader } from '../journal/read.ts'
import { findBehind } from './behind.ts'
import { queueByFolder } from './folder-queue.ts'
import { createIndexReader, parseSnippet, SNIPPET_COLUMNS, type SnippetRow } from './read-tables.ts'
import { createVectorTables } from './vector-tables.ts'
import { createIndexWriter } from './write-tables.ts'

/** How many snippets one step of a deletion removes. */
const SNIPPETS_PER_STEP = 500

type Place = Pick<ConversationRow, 'id' | 'key'>

/**
 * The memory index in PostgreSQL. It is computed from the journal, and `memory_progress` says up to which entry. Appends index nothing.
 * The entries are indexed after their turn has ended, by the process that has run it, and before a search that covers them. Each
 * transaction that changes the index of a folder locks the folder, so two processes never add the same entries.
 */
export function createPostgresRecall(database: Database, reader: Pick<Reader, 'journal'>) {
  /** Adds the entries of a step to the index. Entries that were removed since they were read are left out. */
  const writeStep = ({ id, start, entries, end }: IndexStep<Position>): Promise<void> =>
    database.repeat(async (queries) => {
      const folder = folderOf(id)
      await lockFolder(queries, folder)
      // after a crash of the server, the entries are indexed again from the journal, so the commit need not be synced to the disk
      const [now] = await queries.all<Position>(
        `${POSITION} AND set_config('synchronous_commit', 'off', true) = 'off'`, // the position is read after the folder was locked
        [id],
      )
      if (now?.key !== start.key || now.indexed !== start.indexed) return
      const stored = await storedEntries(queries, start.key, entries)
      await runLater(indexEntries(createIndexWriter(queries), { folder, conversation: start.key }, stored))
      await queries.run(
        'INSERT INTO memory_progress (conversation, seq) VALUES ($1, $2) ON CONFLICT (conversation) DO UPDATE SET seq = excluded.seq',
        [start.key, end],
      )
      // While a turn runs, its appends add no further row to `memory_behind`, so the rows stay. A row that an append has added since this
      // statement began stays too, because it has a higher `seq`.
      await queries.run(
        `DELETE FROM memory_behind USING conversations WHERE conversations.key = $1 AND open_turn IS NULL
         AND memory_behind.folder = conversations.folder AND memory_behind.conversation = $1 AND memory_behind.seq <= $2`,
        [start.key, end],
      )
    }, SHARED_ROW_IDLE_MS)

  const { catchUp, noteAppended, close } = createCatchUp<Position>({
    findBehind: (within) => findBehind(database, within),
    positionOf: async (id) => (isStorableId(id) ? (await database.all<Position>(POSITION, [id]))[0] : undefined),
    journal: reader.journal,
    async write(steps) {
      for (const step of steps) await writeStep(step)
    },
  })

  const index: MemoryIndex = createMemoryIndex({
    read: (work) => database.read((queries) => runLater(work(createIndexReader(queries)))),
    catchUp: queueByFolder(catchUp),
    vectors: createMemoryVectors((work) => database.repeat((queries) => runLater(work(createVectorTables(queries))))),
  })

  const selectSnippets = async (queries: Queries, where: string, values: readonly unknown[]) =>
    (
      await queries.all<SnippetRow>(`SELECT ${SNIPPET_COLUMNS.join(', ')} FROM memory_snippets WHERE conversation = $1 ${where}`, values)
    ).map(parseSnippet)

  return {
    index,
    noteAppended,
    /** Waits for running work, and starts no further work. */
    close,

    /** Removes some snippets of a conversation whose deletion has begun, and counts the rows by table. */
    async removeSome(queries: Queries, { id, key }: Place): Promise<{ readonly isDone: boolean; readonly rows: Counts }> {
      const rows: Record<string, number> = {}
      const count = (table: string, removed: number) => {
        rows[table] = (rows[table] ?? 0) + removed
      }
      await lockFolder(queries, folderOf(id))
      const some = await selectSnippets(queries, `ORDER BY owner, number LIMIT ${SNIPPETS_PER_STEP}`, [key])
      await runLater(removeSnippets(createIndexWriter(queries, count), folderOf(id), some))
      if (some.length > 0) return { isDone: false, rows }
      for (const table of ['memory_turns', 'memory_progress'])
        count(table, await queries.run(`DELETE FROM ${table} WHERE conversation = $1`, [key]))
      const behind =
        'DELETE FROM memory_behind USING conversations WHERE conversations.key = $1 AND memory_behind.folder = conversations.folder AND conversation = $1'
      count('memory_behind', await queries.run(behind, [key]))
      return { isDone: true, rows }
    },

    /** Removes the snippets whose entries were removed from the journal. */
    async removeWithoutEntry(queries: Queries, { id, key }: Place): Promise<void> {
      await lockFolder(queries, folderOf(id))
      const removed = await selectSnippets(
        queries,
        'AND NOT EXISTS (SELECT 1 FROM journal WHERE journal.conversation = $1 AND journal.seq = memory_snippets.seq)',
        [key],
      )
      await runLater(removeSnippets(createIndexWriter(queries), folderOf(id), removed))
    },
  }
}

export type Recall = ReturnType<typeof createPostgresRecall>

const POSITION = `SELECT key, last_seq AS last, coalesce((SELECT seq FROM memory_progress WHERE conversation = key), 0) AS indexed
  FROM conversations WHERE id = $1 AND deleted_at IS NULL`

/**
 * Locks the index of a folder until the end of the transaction. A statement that follows sees what earlier holders of the lock have written.
 * The trigger `remove_index` computes the number of the lock too, so it never changes. Who holds the lock must not wait for the row of a
 * conversation, because the trigger takes the lock while the row is locked.
 */
async function lockFolder({ run }: Queries, folder: string): Promise<void> {
  const key = hash('sha256', `memory index ${folder}`, 'buffer').readBigInt64BE(0)
  await run('SELECT pg_advisory_xact_lock($1::bigint)', [key.toString()])
}

/** The entries that the journal still has. */
async function storedEntries(queries: Queries, key: number, entries: readonly IndexedEntry[]): Promise<readonly IndexedEntry[]> {
  const withSnippets = entries.filter(({ snippets }) => snippets.length > 0).map(({ seq }) => seq)
  const rows = await queries.all<{ seq: number }>(
    `SELECT stored.seq FROM unnest($2::int[]) AS wanted (seq),
     LATERAL (SELECT seq FROM journal WHERE conversation = $1 AND seq = wanted.seq LIMIT 1) AS stored`,
    [key, withSnippets],
  )
  const stored = new Set(rows.map(({ seq }) => seq))
  return entries.filter(({ seq, snippets }) => snippets.length === 0 || stored.has(seq))
}
