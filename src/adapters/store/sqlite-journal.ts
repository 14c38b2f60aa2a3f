import { type Block, blockNumber, callOf } from '../../core/block/index.ts'
import { type Change, changeTime } from '../../core/timeline/change.ts'
import type { Frame } from '../../core/timeline/frame.ts'
import { usedTwice } from './births.ts'
import { loggedTurns } from './bundles.ts'
import type { Database } from './sqlite-database.ts'
import { isDuplicateKey } from './sqlite-failure.ts'

/** One entry of the journal with what it is found by. */
export interface JournalRow {
  readonly seq: number
  readonly change: Change
  readonly body: string
  readonly births: readonly Block[]
  readonly blobs: readonly string[]
}

/** Writes rows and their index entries. Belongs inside `database.write`. */
export function createJournal(database: Database) {
  const insertRow = database.writing('INSERT INTO journal (conversation, seq, type, ts, body) VALUES (?, ?, ?, ?, ?)')
  const insertBlock = database.writing('INSERT INTO blocks (conversation, number, seq) VALUES (?, ?, ?)')
  const insertPath = database.writing('INSERT INTO paths (conversation, path, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertCall = database.writing('INSERT INTO calls (conversation, call, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertTurn = database.writing('INSERT INTO turns (conversation, turn, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const insertRef = database.writing('INSERT INTO blob_refs (conversation, seq, sha256) VALUES (?, ?, ?)')
  const putFrame = database.writing('INSERT OR REPLACE INTO frames (conversation, seq, body) VALUES (?, ?, ?)')

  function enter(conversation: number, seq: number, block: Block): void {
    try {
      insertBlock.run(conversation, blockNumber(block.id) ?? null, seq)
    } catch (error) {
      throw isDuplicateKey(error) ? usedTwice(block.id) : error
    }
  }

  return {
    /** `lastTs`: entries without a time of their own share that of the entry before. */
    write(conversation: number, rows: readonly JournalRow[], lastTs: string): void {
      let ts = lastTs
      for (const { seq, change, body, births, blobs } of rows) {
        ts = changeTime(change) ?? ts
        insertRow.run(conversation, seq, change.type, ts, body)
        for (const block of births) enter(conversation, seq, block)
        for (const path of distinct(births.map((block) => block.path))) insertPath.run(conversation, path, seq)
        for (const call of distinct(births.map(callOf))) insertCall.run(conversation, call, seq)
        const turns = new Set([...loggedTurns(change), ...births.map(({ turn_id }) => turn_id)])
        for (const turn of turns) insertTurn.run(conversation, turn, seq)
        for (const sha256 of blobs) insertRef.run(conversation, seq, sha256)
      }
    },

    /** Only the latest is kept: loading begins there. */
    putFrame(conversation: number, seq: number, frame: Frame): void {
      putFrame.run(conversation, seq, JSON.stringify(frame))
    },
  }
}

export type Journal = ReturnType<typeof createJournal>

const distinct = (values: readonly (string | undefined)[]): ReadonlySet<string> => new Set(values.filter((value) => value !== undefined))
