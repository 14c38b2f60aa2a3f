import { blockNumber, callIdOf } from '../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { turnsLoggedBy } from '../shared/bundles.ts'
import type { Database } from './database.ts'
import { ENTRIES_AFTER, parseRow, SEQ, type StoredRow } from './rows.ts'

/**
 * By what entries are found. An index costs a page or two for every path and call, so it is not written with every append but for
 * many entries at once:
 *
 *   seq   1 … … … … … … … … i │ … … last
 *         found by index        │ read through: at most as many as it takes to fill the index again
 */
export const INDEX_BATCH = 96

/** Belongs inside `database.write`. */
export function createIndexer(database: Database) {
  const insertBlock = database.writing('INSERT INTO blocks (conversation, number, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertPath = database.writing('INSERT INTO paths (conversation, path, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertCall = database.writing('INSERT INTO calls (conversation, call, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertTurn = database.writing('INSERT INTO turns (conversation, turn, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const rowsBeyond = database.writing<StoredRow>(`SELECT ${SEQ} AS seq, body FROM journal WHERE ${ENTRIES_AFTER} ORDER BY entry`)

  /** The blocks of an entry that were not in an earlier one. */
  const births = (conversation: number, seq: number, change: Change) =>
    blocksOfChange(change).filter((block) => insertBlock.run(conversation, blockNumber(block.id) ?? null, seq) === 1)

  function enter(conversation: number, seq: number, change: Change): void {
    const entered = births(conversation, seq, change)
    for (const path of distinct(entered.map((block) => block.path))) insertPath.run(conversation, path, seq)
    for (const call of distinct(entered.map(callIdOf))) insertCall.run(conversation, call, seq)
    const turns = new Set([...turnsLoggedBy(change), ...entered.map(({ turn_id }) => turn_id)])
    for (const turn of turns) insertTurn.run(conversation, turn, seq)
  }

  return {
    /** Everything beyond `indexed`. Names stay in their row, so that no blob is needed. */
    enterBeyond(conversationId: string, conversation: number, indexed: number): void {
      for (const row of rowsBeyond.all(conversation, indexed)) enter(conversation, row.seq, parseRow(conversationId, row) as Change) // checked when it was written
    },
  }
}

export type Indexer = ReturnType<typeof createIndexer>

const distinct = (values: readonly (string | undefined)[]): ReadonlySet<string> => new Set(values.filter((value) => value !== undefined))
