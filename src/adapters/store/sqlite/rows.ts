import { errorMessage, Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'
import { type Change, changeTime } from '../../../core/timeline/change.ts'
import type { Frame } from '../../../core/timeline/frame.ts'
import { parseChange } from '../../../core/timeline/parse-change.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Entry } from '../../../ports/store.ts'
import { decodeRow, largeTextsOf, mayHoldMarkers } from '../shared/large-text.ts'
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

/** The types of changes that modify the pool of sources. A frame does not contain the pool, so loading reads all of these entries. */
const poolChanges: ReadonlySet<string> = new Set(['sources.merged', 'sources.used', 'source.removed'])

export interface StoredRow {
  readonly seq: number
  readonly body: string
}

export interface TypedRow extends StoredRow {
  readonly type: string
}

/** How many blobs one `readRows` fetches at the same time. */
const PARALLEL_FETCHES = 16

/**
 * Parses rows into entries and fetches their large texts. A row that can not be parsed throws `store.damaged` with the `seq` of the row.
 */
export function createRowReader(blobs: BlobStore) {
  async function readRows(conversationId: string, rows: readonly StoredRow[]): Promise<readonly Entry[]> {
    const parsed = rows.map((row) => parseWithLargeTexts(conversationId, row))
    const texts = await fetchTexts(conversationId, parsed)
    return parsed.map(({ seq, value, hashes }) =>
      orDamagedRow(conversationId, seq, () => ({
        seq,
        // `texts` has every hash that `decodeRow` asks for, because `fetchTexts` has fetched all `hashes`
        change: parseChange(hashes ? decodeRow(value, (sha256) => texts.get(sha256) as string) : value),
      })),
    )
  }

  async function fetchTexts(conversationId: string, rows: readonly ParsedRow[]): Promise<ReadonlyMap<string, string>> {
    const wanted = new Map(rows.flatMap(({ seq, hashes }) => (hashes ?? []).map((sha256) => [sha256, seq] as const)))
    const texts = new Map<string, string>()
    const queue = [...wanted]
    const fetchNext = async (): Promise<void> => {
      for (let next = queue.pop(); next; next = queue.pop()) {
        const [sha256, seq] = next
        texts.set(sha256, await fetchText(conversationId, seq, sha256))
      }
    }
    await Promise.all(Array.from({ length: Math.min(PARALLEL_FETCHES, queue.length) }, fetchNext))
    return texts
  }

  /** The texts that are being fetched now, by hash. If several callers need the same text at the same time, its blob is read once. */
  const fetching = new Map<string, Promise<string>>()

  function fetchOnce(sha256: string): Promise<string> {
    const running = fetching.get(sha256)
    if (running) return running
    const started = blobs
      .get(sha256)
      .then((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
      .finally(() => fetching.delete(sha256))
    fetching.set(sha256, started)
    return started
  }

  async function fetchText(conversationId: string, seq: number, sha256: string): Promise<string> {
    try {
      return await fetchOnce(sha256)
    } catch (error) {
      throw damagedRow(conversationId, seq, error)
    }
  }

  return {
    readRows,
    /** Does the same as `readRows`, but does not fetch the raw texts of model responses. A timeline does not contain them. */
    readVisibleRows: (conversationId: string, rows: readonly TypedRow[]) =>
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
  /** The hashes of the row's large texts. Undefined if the row needs no decoding. */
  readonly hashes?: readonly string[]
}

function parseWithLargeTexts(conversationId: string, row: StoredRow): ParsedRow {
  const value = parseRow(conversationId, row)
  const { seq, body } = row
  return mayHoldMarkers(body) ? { seq, value, hashes: orDamagedRow(conversationId, seq, () => largeTextsOf(value)) } : { seq, value }
}

/** The JSON of a row, with references in place of large texts. */
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

/** Whether reading a row failed because a blob is missing. Another process may have deleted the conversation meanwhile. */
export const isMissingBlob = (error: unknown): boolean =>
  error instanceof Failure && error.cause instanceof Failure && error.cause.code === 'blob.missing'
