import { blockNumber, callIdOf } from '../../../core/block/index.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import type { Frame } from '../../../core/timeline/frame.ts'
import { turnsLoggedBy } from '../../../core/timeline/journal-bundle.ts'
import { parseRow, poolChanges, type StoredRow } from '../shared/rows.ts'
import type { Database } from './database.ts'

/*
 * Reads and writes rows of the journal. The primary key of a row is one number: the conversation's key in the high bits, `seq` in the low
 * 32 bits. So the rows of a conversation are stored in the order of `seq`, and the table needs no other index.
 */

/** SQL for the key of the entry with `seq` ?2 in the conversation with key ?1. */
export const ENTRY_KEY = '(?1 << 32 | ?2)'

export const SEQ = 'entry & 4294967295'

/** SQL for the entries after `seq` ?2 in the conversation with key ?1. */
export const ENTRIES_AFTER = 'entry > (?1 << 32 | ?2) AND entry < (?1 + 1 << 32)'

/** A row to be written to the journal, with the hashes of the blobs that its change refers to. */
interface JournalRow {
  readonly seq: number
  readonly change: Change
  readonly body: string
  readonly blobs: readonly string[]
}

/** Writes entries and frames. Call its functions inside `database.write`. */
export function createJournalWriter(database: Database) {
  const insertRow = database.writeStatement(`INSERT INTO journal (entry, type, ts, body) VALUES (${ENTRY_KEY}, ?3, ?4, ?5)`)
  const insertSource = database.writeStatement('INSERT INTO sources (conversation, seq) VALUES (?, ?)')
  const insertReference = database.writeStatement('INSERT INTO blob_refs (conversation, seq, sha256) VALUES (?, ?, ?)')
  const putFrame = database.writeStatement('INSERT OR REPLACE INTO frames (conversation, seq, body) VALUES (?, ?, ?)')

  return {
    /** Writes entries. A change without a time gets the time of the entry before it. `lastTs` is the time of the last stored entry. */
    write(conversation: number, rows: readonly JournalRow[], lastTs: string): void {
      let ts = lastTs
      for (const { seq, change, body, blobs } of rows) {
        ts = changeTime(change) ?? ts
        insertRow.run(conversation, seq, change.type, ts, body)
        if (poolChanges.has(change.type)) insertSource.run(conversation, seq)
        for (const sha256 of blobs) insertReference.run(conversation, seq, sha256)
      }
    },

    /** Replaces the frame of the conversation. Older frames are not needed, because loading starts with the latest one. */
    putFrame(conversation: number, seq: number, frame: Frame): void {
      putFrame.run(conversation, seq, JSON.stringify(frame))
    },
  }
}

export type JournalWriter = ReturnType<typeof createJournalWriter>

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
