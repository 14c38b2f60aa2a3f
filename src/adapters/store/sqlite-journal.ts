import { type Change, changeTime } from '../../core/timeline/change.ts'
import type { Frame } from '../../core/timeline/frame.ts'
import { isPoolChange } from './pool.ts'
import type { Database } from './sqlite/database.ts'

/** One entry of the journal as it is written. */
export interface JournalRow {
  readonly seq: number
  readonly change: Change
  readonly body: string
  readonly blobs: readonly string[]
}

/** Where an entry is: one number, so that a journal needs no index and a conversation's entries lie together. */
export const ENTRY_KEY = '(?1 << 32 | ?2)'
export const SEQ = 'entry & 4294967295'
/** The entries of conversation ?1 beyond ?2. */
export const ENTRIES_AFTER = 'entry > (?1 << 32 | ?2) AND entry < (?1 + 1 << 32)'

/** Writes entries. Belongs inside `database.write`. */
export function createJournalWriter(database: Database) {
  const insertRow = database.writing(`INSERT INTO journal (entry, type, ts, body) VALUES (${ENTRY_KEY}, ?3, ?4, ?5)`)
  const insertSource = database.writing('INSERT INTO sources (conversation, seq) VALUES (?, ?)')
  const insertRef = database.writing('INSERT INTO blob_refs (conversation, seq, sha256) VALUES (?, ?, ?)')
  const putFrame = database.writing('INSERT OR REPLACE INTO frames (conversation, seq, body) VALUES (?, ?, ?)')

  return {
    /** `lastTs`: entries without a time of their own share that of the entry before. */
    write(conversation: number, rows: readonly JournalRow[], lastTs: string): void {
      let ts = lastTs
      for (const { seq, change, body, blobs } of rows) {
        ts = changeTime(change) ?? ts
        insertRow.run(conversation, seq, change.type, ts, body)
        if (isPoolChange(change)) insertSource.run(conversation, seq)
        for (const sha256 of blobs) insertRef.run(conversation, seq, sha256)
      }
    },

    /** Only the latest is kept: loading begins there. */
    putFrame(conversation: number, seq: number, frame: Frame): void {
      putFrame.run(conversation, seq, JSON.stringify(frame))
    },
  }
}

export type JournalWriter = ReturnType<typeof createJournalWriter>
