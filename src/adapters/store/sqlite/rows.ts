import { type Change, changeTime } from '../../../core/timeline/change.ts'
import type { Frame } from '../../../core/timeline/frame.ts'
import { poolChanges } from '../shared/rows.ts'
import type { Database } from './database.ts'

/*
 * Reads and writes rows of the journal. The primary key of a row is one number: the conversation's key in the high bits, `seq` in the low
 * 32 bits. So the rows of a conversation are stored in order, and the table needs no other index.
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
