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
import type { Reader } from './read.ts'
import { createIndexReader, createIndexWriter, createSnippetFinder, createVectorTables } from './schema/memory-tables.ts'

/**
 * How many entries one transaction indexes, and how many snippets one step of a deletion removes. The entries may belong to several
 * conversations. The numbers are small, because other writers wait during the transaction.
 */
const ENTRIES_PER_STEP = 128
const SNIPPETS_PER_STEP = 64
/** How long after the end of a turn its texts are indexed. Other turns that end in this time are indexed together with this turn. */
const DELAY_MS = 1_000

type Place = Pick<ConversationRow, 'id' | 'key'>

/** The position up to which a conversation is indexed. Every claim and every deletion changes the epoch of the conversation. */
interface Position {
  readonly key: number
  readonly epoch: number
  readonly memory_seq: number
  readonly last_seq: number
}

/** Entries of a conversation that are indexed together. */
interface IndexStep {
  readonly id: string
  readonly start: Position
  readonly entries: readonly IndexedEntry[]
  /** The position after this step. */
  readonly last: number
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
  const POSITION = 'SELECT key, epoch, memory_seq, last_seq FROM conversations WHERE id = ? AND deleted_at IS NULL'
  const position = database.writeStatement<Position>(POSITION)
  const committedPosition = database.readStatement<Position>(POSITION)
  const entryExists = database.writeStatement(`SELECT 1 FROM journal WHERE entry = ${ENTRY_KEY}`)
  const setPosition = database.writeStatement('UPDATE conversations SET memory_seq = ? WHERE key = ?')

  /**
   * Reads entries of a conversation that is behind, at most `limit`, and analyses them. Undefined when the conversation is indexed up to
   * its goal. The entries are read before the transaction begins, because large texts are in blobs, and reading them takes time.
   */
  async function readStep(id: string, goals: Map<string, number>, limit: number): Promise<IndexStep | undefined> {
    const start = database.read(() => committedPosition.get(id))
    const goal = goals.get(id) ?? start?.last_seq ?? 0
    goals.set(id, goal)
    if (!start || start.memory_seq >= goal) return undefined
    const entries: IndexedEntry[] = []
    // responses are left out: they are long, and their texts are in other entries too
    for await (const { seq, change } of reader.journal(id, { after: start.memory_seq, limit, passNewer: true }, 'response.received')) {
      if (seq > goal) break
      entries.push(analyseEntry(seq, change))
    }
    const last = entries.at(-1)?.seq ?? goal
    return { id, start, entries, last: entries.length < limit ? goal : last }
  }

  /**
   * Adds the entries of a step to the index. Nothing is written in two cases: another process has indexed meanwhile, or the epoch has
   * changed. A changed epoch can mean that the conversation was deleted and created again with the same key. Entries that were removed
   * meanwhile are left out.
   */
  function writeStep({ id, start, entries, last }: IndexStep): void {
    const now = position.get(id)
    if (now?.key !== start.key || now.epoch !== start.epoch || now.memory_seq !== start.memory_seq) return
    const stored = entries.filter(({ seq, snippets: each }) => each.length === 0 || entryExists.get(start.key, seq))
    indexEntries(tables, { folder: folderOf(id), conversation: start.key }, stored)
    setPosition.run(last, start.key)
    endBehind.run(start.key)
  }

  /** Reads steps of the first conversations of `ids`, with at most `ENTRIES_PER_STEP` entries together. */
  async function readSteps(ids: Set<string>, goals: Map<string, number>, onError: (error: unknown) => void): Promise<readonly IndexStep[]> {
    const steps: IndexStep[] = []
    let room = ENTRIES_PER_STEP
    for (const id of ids) {
      if (room <= 0) break
      try {
        const step = await readStep(id, goals, room)
        if (!step) ids.delete(id)
        else {
          steps.push(step)
          room -= step.entries.length
        }
      } catch (error) {
        ids.delete(id)
        onError(error)
      }
    }
    return steps
  }

  // this write need not be synced, because after a power cut, the entries are indexed again from the journal
  const write = async (steps: readonly IndexStep[]): Promise<void> => {
    if (steps.length > 0) await database.writeUnsynced(() => steps.forEach(writeStep))
  }

  /**
   * Indexes the entries that conversations have now. Entries that are appended meanwhile are indexed the next time. Otherwise indexing
   * would follow each append of a running turn. If conversations have only few new entries, several conversations share a transaction. If a
   * conversation can not be read, the others are still indexed. The error is thrown at the end.
   */
  async function indexAll(ids: readonly string[], signal: AbortSignal | undefined): Promise<void> {
    const left = new Set(ids)
    const goals = new Map<string, number>()
    const errors: unknown[] = []
    while (left.size > 0 && !signal?.aborted) {
      const steps = await readSteps(left, goals, (error) => errors.push(error))
      await write(steps).catch(async () => {
        for (const step of steps) {
          await write([step]).catch((error) => {
            left.delete(step.id)
            errors.push(error)
          })
        }
      })
      await pause()
    }
    if (errors.length > 0) throw errors[0]
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

  const background = createBackground(indexAll)

  const indexReader = createIndexReader(database)
  const index: MemoryIndex = createMemoryIndex({
    read: (work) => database.read(() => work(indexReader)),
    catchUp,
    vectors: createMemoryVectors(createVectorTables(database), (work) => database.write(work)),
  })

  return {
    index,
    /**
     * Stores that a conversation has entries which are not indexed. Call it inside `database.write`. If this is already stored, nothing is
     * written.
     */
    noteBehind: (key: number): void => void noteBehind.run(key),
    /** Indexes the entries of a conversation soon, if one of the changes ends a turn. */
    noteAppended(conversationId: string, changes: readonly Change[]): void {
      if (changes.some(({ type }) => type === 'turn.closed')) background.add(conversationId)
    },
    /** Waits for running work, and starts no further work. */
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
    // an error is ignored here, because the next search indexes the same entries, and reports the error
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
