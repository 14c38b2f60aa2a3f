import type { MemoryIndex, MemoryScope } from '../../../ports/store/memory-index.ts'
import type { Counts } from '../../../ports/store/receipts.ts'
import type { ConversationRow } from '../shared/conversation-row.ts'
import { createCatchUp, type IndexStep, type Position } from '../shared/recall/catch-up.ts'
import { createMemoryIndex, folderOfScope } from '../shared/recall/memory-index.ts'
import { runNow } from '../shared/recall/steps.ts'
import { folderOf } from '../shared/recall/tables.ts'
import { createMemoryVectors } from '../shared/recall/vectors.ts'
import { indexEntries, removeSnippets } from '../shared/recall/write.ts'
import type { Database } from './database.ts'
import { ENTRY_KEY } from './journal.ts'
import type { Reader } from './read.ts'
import { createIndexReader, createIndexWriter, createSnippetFinder, createVectorTables } from './schema/memory-tables.ts'

/** How many snippets one step of a deletion removes. The number is small, because other writers wait during the transaction. */
const SNIPPETS_PER_STEP = 64

type Place = Pick<ConversationRow, 'id' | 'key'>

/** The position up to which a conversation is indexed. Every claim and every deletion changes the epoch of the conversation. */
interface SqlitePosition extends Position {
  readonly epoch: number
}

/**
 * The memory index in the SQLite file. It is computed from the journal, and `memory_seq` says up to which entry. Appends index nothing, so
 * the index does not make them slower. The entries are indexed after their turn has ended, and before a search that covers them.
 */
export function createSqliteRecall(database: Database, reader: Reader) {
  let removedRows: Record<string, number> = {}
  const tables = createIndexWriter(database, (table, rows) => {
    removedRows[table] = (removedRows[table] ?? 0) + rows
  })
  const snippets = createSnippetFinder(database)
  // this query reads all conversations, and not only those in `memory_behind`, because a process with an older version of Daybook does not
  // write `memory_behind`
  const behind = database.readStatement<{ id: string }>(
    'SELECT id FROM conversations WHERE deleted_at IS NULL AND memory_seq < last_seq ORDER BY folder, id',
  )
  const NOTED = 'SELECT id FROM memory_behind JOIN conversations ON key = conversation WHERE deleted_at IS NULL'
  const behindInFolder = database.readStatement<{ id: string }>(`${NOTED} AND folder = ?`)
  const oneBehind = database.readStatement<{ id: string }>(`${NOTED} AND id = ?`)
  const noteBehind = database.writeStatement('INSERT OR IGNORE INTO memory_behind VALUES (?)')
  const endBehind = database.writeStatement(
    'DELETE FROM memory_behind WHERE conversation IN (SELECT key FROM conversations WHERE key = ? AND memory_seq >= last_seq)',
  )
  const POSITION = 'SELECT key, epoch, memory_seq AS indexed, last_seq AS last FROM conversations WHERE id = ? AND deleted_at IS NULL'
  const position = database.writeStatement<SqlitePosition>(POSITION)
  const committedPosition = database.readStatement<SqlitePosition>(POSITION)
  const entryExists = database.writeStatement(`SELECT 1 FROM journal WHERE entry = ${ENTRY_KEY}`)
  const setPosition = database.writeStatement('UPDATE conversations SET memory_seq = ? WHERE key = ?')

  /**
   * Adds the entries of a step to the index. Nothing is written in two cases: another process has indexed meanwhile, or the epoch has
   * changed. A changed epoch can mean that the conversation was deleted and created again with the same key. Entries that were removed
   * meanwhile are left out.
   */
  function writeStep({ id, start, entries, end }: IndexStep<SqlitePosition>): void {
    const now = position.get(id)
    if (now?.key !== start.key || now.epoch !== start.epoch || now.indexed !== start.indexed) return
    const stored = entries.filter(({ seq, snippets: each }) => each.length === 0 || entryExists.get(start.key, seq))
    runNow(indexEntries(tables, { folder: folderOf(id), conversation: start.key }, stored))
    setPosition.run(end, start.key)
    endBehind.run(start.key)
  }

  const idsBehind = (within: MemoryScope | undefined): readonly string[] =>
    database
      .read(() => {
        if (within === undefined) return behind.all()
        if (!('conversationId' in within)) return behindInFolder.all(folderOfScope(within))
        return within.conversationId.isWellFormed() ? oneBehind.all(within.conversationId) : []
      })
      .map(({ id }) => id)

  const { catchUp, noteAppended, close } = createCatchUp<SqlitePosition>({
    findBehind: (within) => [idsBehind(within)],
    positionOf: (id) => database.read(() => committedPosition.get(id)),
    journal: reader.journal,
    // this write need not be synced, because after a power cut, the entries are indexed again from the journal
    write: (steps) => database.writeUnsynced(() => steps.forEach(writeStep)),
  })

  const indexReader = createIndexReader(database)
  const vectorTables = createVectorTables(database)
  const index: MemoryIndex = createMemoryIndex({
    read: (work) => database.read(() => runNow(work(indexReader))),
    catchUp,
    vectors: createMemoryVectors((work) => database.write(() => runNow(work(vectorTables)))),
  })

  return {
    index,
    /**
     * Stores that a conversation has entries which are not indexed. Call it inside `database.write`. If this is already stored, nothing is
     * written.
     */
    noteBehind: (key: number): void => void noteBehind.run(key),
    noteAppended,
    close,
    /** Removes some snippets of a conversation, and counts the rows by table. Call it inside `database.write`. */
    removeSome({ id, key }: Place): { readonly isDone: boolean; readonly rows: Counts } {
      const some = snippets.some.all(key, SNIPPETS_PER_STEP).map(snippets.parse)
      removedRows = {}
      runNow(removeSnippets(tables, folderOf(id), some))
      return { isDone: some.length === 0, rows: removedRows }
    },
    /** Removes the snippets whose entries were removed from the journal. Call it inside `database.write`. */
    removeWithoutEntry({ id, key }: Place): void {
      runNow(removeSnippets(tables, folderOf(id), snippets.withoutEntry.all(key).map(snippets.parse)))
    },
  }
}

export type Recall = ReturnType<typeof createSqliteRecall>
