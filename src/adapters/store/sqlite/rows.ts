import { errorMessage, Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'
import { applyMerge, emptyPool, markUsed, removeSource, type SourcePool } from '../../../core/sources/pool.ts'
import type { SourceRow } from '../../../core/sources/source.ts'
import { type Change, changeTime } from '../../../core/timeline/change.ts'
import type { Frame } from '../../../core/timeline/frame.ts'
import { parseChange } from '../../../core/timeline/parse-change.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Entry } from '../../../ports/store.ts'
import { decodeRow, largeTextsOf, mayHoldMarkers } from '../shared/large-text.ts'
import type { Database } from './database.ts'

export interface StoredRow {
  readonly seq: number
  readonly body: string
}

/** Rows as changes again, texts filled in. What can not be read is named, and nothing is guessed. */
export function createRowReader(blobs: BlobStore) {
  async function readRows(conversationId: string, rows: readonly StoredRow[]): Promise<readonly Entry[]> {
    const parsed = rows.map((row) => parseWithLargeTexts(conversationId, row))
    const texts = await fetchTexts(conversationId, parsed)
    return parsed.map(({ seq, value, needs }) =>
      orDamagedRow(conversationId, seq, () => ({
        seq,
        change: parseChange(needs ? decodeRow(value, (sha256) => texts.get(sha256) as string) : value), // every text that is needed was fetched
      })),
    )
  }

  async function fetchTexts(conversationId: string, rows: readonly ParsedRow[]): Promise<ReadonlyMap<string, string>> {
    const wanted = new Map(rows.flatMap(({ seq, needs }) => (needs ?? []).map((sha256) => [sha256, seq] as const)))
    const texts = new Map<string, string>()
    const queue = [...wanted]
    const fetchNext = async (): Promise<void> => {
      for (let next = queue.pop(); next; next = queue.pop()) {
        const [sha256, seq] = next
        texts.set(sha256, await fetchText(conversationId, seq, sha256))
      }
    }
    await Promise.all(Array.from({ length: Math.min(16, queue.length) }, fetchNext))
    return texts
  }

  async function fetchText(conversationId: string, seq: number, sha256: string): Promise<string> {
    try {
      return Buffer.from(await blobs.get(sha256)).toString()
    } catch (error) {
      throw damagedRow(conversationId, seq, error)
    }
  }

  return {
    readRows,
    /** The same without the raw text of model responses, which no timeline holds. */
    readVisibleRows: (conversationId: string, rows: readonly (StoredRow & { readonly type: string })[]) =>
      readRows(
        conversationId,
        rows.map((row) => (row.type === 'response.received' && mayHoldMarkers(row.body) ? withoutRaw(conversationId, row) : row)),
      ),
  }
}

export type RowReader = ReturnType<typeof createRowReader>

interface ParsedRow {
  readonly seq: number
  readonly value: unknown
  /** Hashes of its large texts. Undefined when the row is the change itself. */
  readonly needs?: readonly string[]
}

function parseWithLargeTexts(conversationId: string, row: StoredRow): ParsedRow {
  const value = parseRow(conversationId, row)
  const { seq, body } = row
  return mayHoldMarkers(body) ? { seq, value, needs: orDamagedRow(conversationId, seq, () => largeTextsOf(value)) } : { seq, value }
}

/** The row without its large texts. */
export const parseRow = (conversationId: string, { seq, body }: StoredRow): unknown =>
  orDamagedRow(conversationId, seq, () => JSON.parse(body) as unknown)

function withoutRaw(conversationId: string, row: StoredRow): StoredRow {
  const value = parseRow(conversationId, row)
  return isObject(value) ? { seq: row.seq, body: JSON.stringify({ ...value, raw: '' }) } : row
}

function orDamagedRow<T>(conversationId: string, seq: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw damagedRow(conversationId, seq, error)
  }
}

export function damagedRow(conversationId: string, seq: number, cause: unknown): Failure {
  const reason = errorMessage(cause)
  return new Failure(
    'store.damaged',
    `entry ${seq} of conversation ${conversationId} can not be read (${reason}): nothing was changed; restore a copy`,
    {
      cause,
      details: { conversationId, seq },
    },
  )
}

/** True when a blob was gone that a row named: someone may have deleted the conversation between the two reads. */
export const isMissingBlob = (error: unknown): boolean =>
  error instanceof Failure && error.cause instanceof Failure && error.cause.code === 'blob.missing'

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

const poolChanges: ReadonlySet<string> = new Set(['sources.merged', 'sources.used', 'source.removed'])
export const isPoolChange = ({ type }: Change): boolean => poolChanges.has(type)

/** The pool after these changes. Merges in a row are put in at once: one by one, each would copy the whole pool. */
export function poolAfter(changes: readonly Change[]): SourcePool {
  let pool = emptyPool
  let rows: SourceRow[] = []
  let nextSid = 1
  const settle = () => {
    pool = applyMerge(pool, { rows, next_sid: nextSid })
    rows = []
    return pool
  }
  for (const change of changes) {
    if (change.type === 'sources.merged') {
      for (const row of change.rows) rows.push(row)
      nextSid = Math.max(nextSid, change.next_sid)
    } else if (change.type === 'sources.used') pool = markUsed(settle(), change.sids)
    else if (change.type === 'source.removed') pool = removeSource(settle(), change.sid)
  }
  return settle()
}
