import { setImmediate as pause } from 'node:timers/promises'
import type { MemoryIndex, MemoryScope } from '../../../ports/memory-index.ts'
import type { ConversationRow } from '../shared/conversation-row.ts'
import { createMemoryIndex, folderOfScope } from '../shared/recall/memory-index.ts'
import { folderOf } from '../shared/recall/tables.ts'
import { analyseEntry, type IndexedEntry, indexEntry, removeSnippets } from '../shared/recall/write.ts'
import type { Database } from './database.ts'
import { createIndexReader, createIndexWriter, createSnippetFinder } from './memory-tables.ts'
import type { Reader } from './read.ts'

/** How many entries are indexed in one transaction when the index catches up, and how many snippets one step of a deletion removes. */
const ENTRIES_PER_STEP = 64
const SNIPPETS_PER_STEP = 64

type Place = Pick<ConversationRow, 'id' | 'key'>

/** The memory index in the SQLite file. An append indexes its entries in its own transaction. */
export function createSqliteRecall(database: Database, reader: Reader) {
  const tables = createIndexWriter(database)
  const snippets = createSnippetFinder(database)
  const behind = database.readStatement<{ id: string }>(
    'SELECT id FROM conversations WHERE deleted_at IS NULL AND memory_seq < last_seq ORDER BY folder, id',
  )
  const behindInFolder = database.readStatement<{ id: string }>(
    'SELECT id FROM conversations WHERE deleted_at IS NULL AND memory_seq < last_seq AND folder = ?',
  )
  const position = database.writeStatement<{ key: number; memory_seq: number; last_seq: number }>(
    'SELECT key, memory_seq, last_seq FROM conversations WHERE id = ? AND deleted_at IS NULL',
  )
  const setPosition = database.writeStatement('UPDATE conversations SET memory_seq = ? WHERE key = ?')

  /** Indexes the entries from `seq` on. Call it inside `database.write`. */
  function indexEntries({ id, key }: Place, seq: number, entries: readonly IndexedEntry[]): void {
    const folder = folderOf(id)
    for (const [index, entry] of entries.entries()) indexEntry(tables, { folder, conversation: key, seq: seq + index }, entry)
  }

  /**
   * Indexes some entries of a conversation that is behind. Returns false when none is left. The entries are read before the transaction,
   * because large texts are in blobs. If another process has indexed meanwhile, nothing is written.
   */
  async function indexSome(id: string): Promise<boolean> {
    const start = await database.write(() => position.get(id))
    if (!start || start.memory_seq >= start.last_seq) return false
    const analysed: { readonly seq: number; readonly entry: IndexedEntry }[] = []
    for await (const { seq, change } of reader.journal(id, start.memory_seq, ENTRIES_PER_STEP))
      analysed.push({ seq, entry: analyseEntry(change) })
    const last = analysed.at(-1)?.seq ?? start.last_seq // retention may have removed the last entries
    await database.write(() => {
      const now = position.get(id)
      if (now?.key !== start.key || now.memory_seq !== start.memory_seq) return
      for (const { seq, entry } of analysed) indexEntries({ id, key: start.key }, seq, [entry])
      setPosition.run(last, start.key)
    })
    return true
  }

  const idsBehind = (within: MemoryScope | undefined): readonly string[] => {
    const rows = database.read(() => (within === undefined ? behind.all() : behindInFolder.all(folderOfScope(within))))
    const ids = rows.map(({ id }) => id)
    return within && 'conversationId' in within ? ids.filter((id) => id === within.conversationId) : ids
  }

  const indexReader = createIndexReader(database)
  const index: MemoryIndex = createMemoryIndex({
    read: (work) => database.read(() => work(indexReader)),
    async catchUp({ within, signal } = {}) {
      const ids = idsBehind(within)
      for (const id of ids) while (!signal?.aborted && (await indexSome(id))) await pause()
      return ids.length
    },
  })

  return {
    index,
    indexEntries,
    /** Removes some snippets of a conversation. Returns false when none is left. Call it inside `database.write`. */
    removeSome({ id, key }: Place): boolean {
      const some = snippets.some.all(key, SNIPPETS_PER_STEP).map(snippets.parse)
      removeSnippets(tables, folderOf(id), some)
      return some.length > 0
    },
    /** Removes the snippets whose entries were removed from the journal. Call it inside `database.write`. */
    removeWithoutEntry({ id, key }: Place): void {
      removeSnippets(tables, folderOf(id), snippets.withoutEntry.all(key).map(snippets.parse))
    },
  }
}

export type Recall = ReturnType<typeof createSqliteRecall>
