import { setImmediate as nextTask } from 'node:timers/promises'
import { type Block, blockNumber, callIdOf } from '../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { type TurnLog, turnLogOf } from '../../../core/timeline/turn-log.ts'
import type { Entry, JournalRange, Saved } from '../../../ports/store.ts'
import { isMissingBlob, type RowReader, type StoredRow, type TypedRow } from '../shared/rows.ts'
import { blocksById, changesOf, isFirstVersion, parseFrame, timelineOfRows } from '../shared/visible.ts'
import type { Database, Statement } from './database.ts'
import { ENTRIES_AFTER, SEQ } from './journal.ts'

/** How many rows of the journal are read together. A row has at most about 9 KB, without its large texts. */
const PAGE_SIZE = 32
/**
 * After reading this many pages of a journal, the reader pauses, so that other work of the process can run. Reading this many pages takes
 * some milliseconds.
 */
const PAGES_PER_TASK = 8

/**
 * Reads conversations. To load the visible timeline, it reads the frame at `seq` f and these entries:
 *
 *   seq   1 … … … … … … … f … … … … last
 *         only entries    │ every entry
 *         about sources,
 *         and those with
 *         blocks that the
 *         frame shows
 *
 * To find blocks by path, turn or call, it reads the rows that the index names, and all rows that are not indexed yet. Some of these rows
 * contain no matching block, so `find` checks each block. (One reason: SQLite stores half a surrogate pair as another character.)
 */
export function createReader(database: Database, rowReader: RowReader) {
  const { readRows } = rowReader
  const conversation = database.readStatement<{ key: number; last_seq: number; indexed_seq: number }>(
    'SELECT key, last_seq, indexed_seq FROM conversations WHERE id = ? AND deleted_at IS NULL',
  )
  const frameOf = database.readStatement<StoredRow>('SELECT seq, body FROM frames WHERE conversation = ?')
  const entriesAfter = database.readStatement<TypedRow>(
    `SELECT ${SEQ} AS seq, type, body FROM journal WHERE ${ENTRIES_AFTER} ORDER BY entry LIMIT ?3`,
  )
  // The rows of a timeline. The query returns only whether a row is a response, and not its type. Reading 20,000 types as texts would take
  // a fifth of the time of the query.
  const visibleAfter = database.readTuples<readonly [seq: number, isResponse: number, body: string]>(
    `SELECT ${SEQ}, type = 'response.received', body FROM journal WHERE ${ENTRIES_AFTER} ORDER BY entry`,
  )
  const sourcesUpTo = database.readStatement<StoredRow>(
    'SELECT seq, body FROM sources JOIN journal ON entry = (conversation << 32 | seq) WHERE conversation = ? AND seq <= ? ORDER BY seq',
  )
  const entriesOfBlocks = database.readStatement<StoredRow>(
    `SELECT ${SEQ} AS seq, body FROM journal WHERE entry IN
     (SELECT ?1 << 32 | seq FROM blocks WHERE conversation = ?1 AND number IN (SELECT value FROM json_each(?2))) ORDER BY entry`,
  )
  const blocksOfEntry = database.readStatement<{ number: number }>('SELECT number FROM blocks WHERE conversation = ? AND seq = ?')
  const indexed = (table: string, column: string) =>
    database.readStatement<TypedRow>(
      `SELECT seq, type, body FROM ${table} JOIN journal ON entry = (conversation << 32 | seq) WHERE conversation = ? AND ${column} = ? ORDER BY seq`,
    )
  const byPath = indexed('paths', 'path')
  const byTurn = indexed('turns', 'turn')
  const byCall = indexed('calls', 'call')

  /** Runs `work` on one snapshot of a conversation. Returns undefined when the conversation does not exist. */
  function inConversation<T>(
    conversationId: string,
    work: (row: { readonly key: number; readonly lastSeq: number; readonly indexedSeq: number }) => T,
  ): T | undefined {
    return database.read(() => {
      const row = conversationId.isWellFormed() ? conversation.get(conversationId) : undefined
      return row && work({ key: row.key, lastSeq: row.last_seq, indexedSeq: row.indexed_seq })
    })
  }

  async function loadVisible(conversationId: string): Promise<Saved | undefined> {
    const rows = inConversation(conversationId, ({ key, lastSeq }) => {
      const stored = frameOf.get(key)
      const frame = stored && { seq: stored.seq, value: parseFrame(conversationId, stored) }
      return {
        lastSeq,
        frame,
        sources: frame ? sourcesUpTo.all(key, frame.seq) : [],
        framed: frame ? entriesOfBlocks.all(key, JSON.stringify(frame.value.order.map(blockNumber))) : [],
        later: visibleAfter.all(key, frame?.seq ?? 0).map(visibleRow),
      }
    })
    return rows && timelineOfRows(conversationId, rows, rowReader)
  }

  /** The blocks with these ids, as they were appended, before later changes such as hiding. Ids that do not exist are left out. */
  async function firstVersions(conversationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Block>> {
    if (ids.length === 0) return new Map()
    const rows = inConversation(conversationId, ({ key, indexedSeq }) => [
      ...entriesOfBlocks.all(key, JSON.stringify(ids.map(blockNumber))),
      ...entriesAfter.all(key, indexedSeq, ALL),
    ])
    return blocksById(await readRows(conversationId, rows ?? []))
  }

  /**
   * The rows that may contain blocks with this path, turn or call. For the entry of an import, `entered` contains the numbers of the blocks
   * that occur in no earlier entry. For other entries it is undefined.
   */
  const candidates = (conversationId: string, index: Statement<TypedRow>, value: string) =>
    inConversation(conversationId, ({ key, indexedSeq }) =>
      [...index.all(key, value), ...entriesAfter.all(key, indexedSeq, ALL)].map((row) => ({
        ...row,
        entered: row.type === 'timeline.imported' ? new Set(blocksOfEntry.all(key, row.seq).map(({ number }) => number)) : undefined,
      })),
    ) ?? []

  const pageAfter = (conversationId: string, after: number, limit: number) =>
    inConversation(conversationId, ({ key }) => entriesAfter.all(key, after, Math.min(limit, PAGE_SIZE))) ?? []

  /**
   * The entry of a row that was read before. If a blob of the row is missing, the function checks whether the row still exists. The result
   * is undefined if another process has deleted the row or its conversation.
   */
  async function readIfStored(conversationId: string, row: TypedRow, passNewer: boolean): Promise<Entry | undefined> {
    const read = async () => (await readRows(conversationId, [row], { passNewer }))[0]
    try {
      return await read()
    } catch (error) {
      if (!isMissingBlob(error)) throw error
      return pageAfter(conversationId, row.seq - 1, 1)[0]?.seq === row.seq ? read() : undefined
    }
  }

  async function find(conversationId: string, index: Statement<TypedRow>, value: string, matches: (block: Block) => boolean) {
    const rows = candidates(conversationId, index, value)
    const entered = new Map(rows.map((row) => [row.seq, row.entered]))
    const entries = await readRows(conversationId, rows)
    return entries.flatMap(({ seq, change }) =>
      blocksOfChange(change).filter((block) => matches(block) && isFirstVersion(block, entered.get(seq))),
    )
  }

  return {
    loadVisible,
    firstVersions,

    byPath: (conversationId: string, path: string) => find(conversationId, byPath, path, (block) => block.path === path),
    byTurn: (conversationId: string, turnId: string) => find(conversationId, byTurn, turnId, (block) => block.turn_id === turnId),
    byCall: (conversationId: string, callId: string) => find(conversationId, byCall, callId, (block) => callIdOf(block) === callId),

    async turnLog(conversationId: string, turnId: string): Promise<TurnLog | undefined> {
      return turnLogOf(turnId, changesOf(await readRows(conversationId, candidates(conversationId, byTurn, turnId))))
    },

    /**
     * The entries after `after`, at most `limit`. The large texts of an entry are fetched when the caller takes the entry. So while a slow
     * caller reads, only the texts of one entry are in memory, and not those of a whole page. Entries of the type `leftOut` are not parsed.
     */
    async *journal(
      conversationId: string,
      { after, limit = Number.POSITIVE_INFINITY, passNewer = false }: JournalRange,
      leftOut?: Change['type'],
    ): AsyncGenerator<Entry> {
      let last = after
      let pages = 0
      for (let left = limit; left > 0; ) {
        if (++pages % PAGES_PER_TASK === 0) await nextTask()
        const page = pageAfter(conversationId, last, left)
        if (page.length === 0) return
        for (const row of page) {
          if (row.type === leftOut) {
            last = row.seq
            continue
          }
          const entry = await readIfStored(conversationId, row, passNewer)
          last = row.seq
          if (!entry) break // read the page again
          left--
          yield entry
        }
      }
    },

    /** The changes of all entries up to `lastSeq`. */
    async changesUpTo(conversationId: string, lastSeq: number): Promise<readonly Change[]> {
      const rows = inConversation(conversationId, ({ key }) => entriesAfter.all(key, 0, ALL).filter(({ seq }) => seq <= lastSeq))
      return changesOf(await readRows(conversationId, rows ?? []))
    },
  }
}

export type Reader = ReturnType<typeof createReader>

const visibleRow = ([seq, isResponse, body]: readonly [number, number, string]) => ({ seq, isResponse: isResponse === 1, body })

/** The LIMIT that means "no limit" in SQLite. */
const ALL = -1
