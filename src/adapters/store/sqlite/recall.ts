import { setImmediate as pause } from 'node:timers/promises'
import type { Change } from '../../../core/timeline/change.ts'
import type { MemoryIndex, MemoryScope } from '../../../ports/store/memory-index.ts'
import type { Counts } from '../../../ports/store/receipts.ts'
import type { ConversationRow } from '../shared/conversation-row.ts'
import { createMemoryIndex, folderOfScope } from '../shared/recall/memory-index.ts'
import { folderOf } from '../shared/recall/tables.ts'
import { createMemoryVectors } from '../shared/recall/vectors.ts'
import { analyseEntry, type IndexedEntry, indexEntries, removeSnippets } from '../shared/recall/write.ts'
import type { Database } from './database.ts'
import { ENTRY_KEY } from './journal.ts'
import { createIndexReader, createIndexWriter, createSnippetFinder, createVectorTables } from './memory-tables.ts'
import type { Reader } from './read.ts'

/** How many entries are indexed in one transaction, and how many snippets one step of a deletion removes. Other writers wait meanwhile. */
const ENTRIES_PER_STEP = 128
const SNIPPETS_PER_STEP = 64
/** How long after the end of a turn its texts are indexed. The turns that end meanwhile are indexed too. */
const DELAY_MS = 1_000

type Place = Pick<ConversationRow, 'id' | 'key'>

/** How far a conversation is indexed. Every claim and every deletion changes its epoch. */
interface Position {
  readonly key: number
  readonly epoch: number
  readonly memory_seq: number
  readonly last_seq: number
}

/**
 * The memory index in the SQLite file. The journal is the truth, and `memory_seq` says how much of it is indexed. Appends index nothing, so
 * they take no longer because of the index. The entries are indexed after their turn has ended, and before a search that covers them.
 */
export function createSqliteRecall(database: Database, reader: Reader) {
  let removedRows: Record<string, number> = {}
  const tables = createIndexWriter(database, (table, rows) => {
    removedRows[table] = (removedRows[table] ?? 0) + rows
  })
  const snippets = createSnippetFinder(database)
  // all conversations are looked at, because a process with an older version of Daybook does not write `memory_behind`
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
  const POSITION = 'SELECT key, epoch, memory_seq, last_seq FROM conversations WHERE id = ? AND deleted_at IS NULL'
  const position = database.writeStatement<Position>(POSITION)
  const committedPosition = database.readStatement<Position>(POSITION)
  const entryExists = database.writeStatement(`SELECT 1 FROM journal WHERE entry = ${ENTRY_KEY}`)
  const setPosition = database.writeStatement('UPDATE conversations SET memory_seq = ? WHERE key = ?')

  /**
   * Indexes some entries of a conversation that is behind. Returns false when none is left. The entries are read before the transaction,
   * because large texts are in blobs. If another process has indexed meanwhile, nothing is written, and neither if the epoch has changed: the
   * conversation may have been deleted and created again, with the same key. Entries that were removed meanwhile are left out.
   */
  async function indexSome(id: string): Promise<boolean> {
    const start = database.read(() => committedPosition.get(id))
    if (!start || start.memory_seq >= start.last_seq) return false
    const analysed: IndexedEntry[] = []
    for await (const { seq, change } of reader.journal(id, { after: start.memory_seq, limit: ENTRIES_PER_STEP, passNewer: true }))
      analysed.push(analyseEntry(seq, change))
    const isComplete = analysed.length < ENTRIES_PER_STEP
    const last = isComplete ? Math.max(start.last_seq, analysed.at(-1)?.seq ?? 0) : (analysed.at(-1) as IndexedEntry).seq
    await database.write(() => {
      const now = position.get(id)
      if (now?.key !== start.key || now.epoch !== start.epoch || now.memory_seq !== start.memory_seq) return
      const stored = analysed.filter(({ seq, snippets: each }) => each.length === 0 || entryExists.get(start.key, seq))
      indexEntries(tables, { folder: folderOf(id), conversation: start.key }, stored)
      setPosition.run(last, start.key)
      endBehind.run(start.key)
    })
    return true
  }

  const idsBehind = (within: MemoryScope | undefined): readonly string[] =>
    database
      .read(() => {
        if (within === undefined) return behind.all()
        if (!('conversationId' in within)) return behindInFolder.all(folderOfScope(within))
        return within.conversationId.isWellFormed() ? oneBehind.all(within.conversationId) : []
      })
      .map(({ id }) => id)

  async function catchUp({ within, signal }: { readonly within?: MemoryScope; readonly signal?: AbortSignal } = {}): Promise<number> {
    const ids = idsBehind(within)
    await indexAll(ids, signal)
    return ids.length
  }

  /** Indexes conversations. One that can not be read does not keep the others from being indexed: its error is thrown at the end. */
  async function indexAll(ids: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    const errors: unknown[] = []
    for (const id of ids) {
      try {
        while (!signal?.aborted && (await indexSome(id))) await pause()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }

  const background = createBackground(indexAll)

  const indexReader = createIndexReader(database)
  const index: MemoryIndex = createMemoryIndex({
    read: (work) => database.read(() => work(indexReader)),
    catchUp,
    vectors: createMemoryVectors(createVectorTables(database), (work) => database.write(work)),
  })

  return {
    index,
    /** Notes that a conversation has entries which are not indexed. Call it inside `database.write`. It writes only the first time. */
    noteBehind: (key: number): void => void noteBehind.run(key),
    /** Indexes the entries of a conversation soon, if one of the changes ends a turn. */
    noteAppended(conversationId: string, changes: readonly Change[]): void {
      if (changes.some(({ type }) => type === 'turn.closed')) background.add(conversationId)
    },
    /** Waits for running work, and starts no more. */
    close: background.close,
    /** Removes some snippets of a conversation, and counts the rows by table. Call it inside `database.write`. */
    removeSome({ id, key }: Place): { readonly isDone: boolean; readonly rows: Counts } {
      const some = snippets.some.all(key, SNIPPETS_PER_STEP).map(snippets.parse)
      removedRows = {}
      removeSnippets(tables, folderOf(id), some)
      return { isDone: some.length === 0, rows: removedRows }
    },
    /** Removes the snippets whose entries were removed from the journal. Call it inside `database.write`. */
    removeWithoutEntry({ id, key }: Place): void {
      removeSnippets(tables, folderOf(id), snippets.withoutEntry.all(key).map(snippets.parse))
    },
  }
}

/** Runs `work` for the conversations that were added, some time after the first of them. */
function createBackground(work: (ids: readonly string[], signal: AbortSignal) => Promise<void>) {
  const ending = new AbortController()
  let waiting = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let running: Promise<void> = Promise.resolve()

  async function run(): Promise<void> {
    const ids = [...waiting]
    waiting = new Set()
    // an error is not reported here: the next search indexes the same entries, and reports it
    await work(ids, ending.signal).catch(() => undefined)
    timer = undefined
    if (waiting.size > 0) start()
  }

  function start(): void {
    if (timer !== undefined || ending.signal.aborted) return
    timer = setTimeout(() => {
      running = run()
    }, DELAY_MS).unref() // the index alone does not keep the process running
  }

  return {
    add(id: string): void {
      waiting.add(id)
      start()
    },
    close(): Promise<void> {
      ending.abort()
      clearTimeout(timer)
      return running
    },
  }
}

export type Recall = ReturnType<typeof createSqliteRecall>
