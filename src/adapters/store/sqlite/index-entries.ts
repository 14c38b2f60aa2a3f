import { blockNumber, callIdOf } from '../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { turnsLoggedBy } from '../../../core/timeline/journal-bundle.ts'
import { parseRow, type StoredRow } from '../shared/rows.ts'
import type { Database } from './database.ts'
import { ENTRIES_AFTER, SEQ } from './rows.ts'

/**
 * How many entries are indexed together. Indexing entries one by one would write one or two database pages for every path and call.
 * Therefore most appends index no entries. Once this many entries are not indexed, the next append indexes all of them:
 *
 *   seq   1 … … … … … … … indexed_seq │ … … … last_seq
 *         found through the index     │ fewer than INDEX_BATCH entries, searched one by one
 */
export const INDEX_BATCH = 96

/** Indexes entries by block, path, call and turn. Call its functions inside `database.write`. */
export function createIndexer(database: Database) {
  const insertBlock = database.writeStatement('INSERT INTO blocks (conversation, number, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertPath = database.writeStatement('INSERT INTO paths (conversation, path, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertCall = database.writeStatement('INSERT INTO calls (conversation, call, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertTurn = database.writeStatement('INSERT INTO turns (conversation, turn, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const entriesAfter = database.writeStatement<StoredRow>(`SELECT ${SEQ} AS seq, body FROM journal WHERE ${ENTRIES_AFTER} ORDER BY entry`)

  /** Indexes the blocks that no earlier entry contains, and returns them. */
  const indexBlocks = (conversation: number, seq: number, change: Change) =>
    blocksOfChange(change).filter((block) => insertBlock.run(conversation, blockNumber(block.id) ?? null, seq) === 1)

  function indexEntry(conversation: number, seq: number, change: Change): void {
    const entered = indexBlocks(conversation, seq, change)
    for (const path of distinct(entered.map((block) => block.path))) insertPath.run(conversation, path, seq)
    for (const call of distinct(entered.map(callIdOf))) insertCall.run(conversation, call, seq)
    const turns = new Set([...turnsLoggedBy(change), ...entered.map(({ turn_id }) => turn_id)])
    for (const turn of turns) insertTurn.run(conversation, turn, seq)
  }

  return {
    /**
     * Indexes every entry with a `seq` above `indexed`. No blobs are read, because ids and paths of blocks are always stored in the rows.
     */
    indexAfter(conversationId: string, conversation: number, indexed: number): void {
      // only valid changes are stored
      for (const row of entriesAfter.all(conversation, indexed)) indexEntry(conversation, row.seq, parseRow(conversationId, row) as Change)
    },
  }
}

export type Indexer = ReturnType<typeof createIndexer>

const distinct = (values: readonly (string | undefined)[]): ReadonlySet<string> => new Set(values.filter((value) => value !== undefined))
