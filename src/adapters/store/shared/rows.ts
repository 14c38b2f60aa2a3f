import { errorMessage, Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'
import type { Change } from '../../../core/timeline/change.ts'
import { newerType, parseChange } from '../../../core/timeline/parse-change.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Entry } from '../../../ports/store.ts'
import { decodeRow, largeTextsOf, mayHoldMarkers } from './large-text.ts'

/** The types of changes that modify the pool of sources. A frame does not contain the pool, so loading reads all of these entries. */
export const poolChanges: ReadonlySet<string> = new Set(['sources.merged', 'sources.used', 'source.removed'])

export interface StoredRow {
  readonly seq: number
  readonly body: string
}

export interface TypedRow extends StoredRow {
  readonly type: string
}

/** A row from which the timeline is made. */
export interface VisibleRow extends StoredRow {
  readonly isResponse: boolean
}

/** How many blobs one `readRows` fetches at the same time. */
const PARALLEL_FETCHES = 16

/**
 * Parses rows into entries and fetches their large texts. A row that can not be parsed throws `store.damaged` with the `seq` of the row. A
 * change that a newer version of Daybook has written throws `conversation.newer`. With `passNewer` it is returned as it is stored.
 */
export function createRowReader(blobs: BlobStore) {
  async function readRows(conversationId: string, rows: readonly StoredRow[], { passNewer = false } = {}): Promise<readonly Entry[]> {
    const parsed = rows.map((row) => parseWithLargeTexts(conversationId, row))
    const texts = await fetchTexts(conversationId, parsed)
    return parsed.map(({ seq, value, hashes }) =>
      orDamagedRow(conversationId, seq, () => ({
        seq,
        // `texts` has every hash that `decodeRow` asks for, because `fetchTexts` has fetched all `hashes`
        change: readChange(hashes ? decodeRow(value, (sha256) => texts.get(sha256) as string) : value, { conversationId, seq, passNewer }),
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
    /**
     * Does the same as `readRows`, but only for a timeline. It does not fetch the raw texts of model responses, and leaves out responses
     * before the last decision, because a timeline contains neither.
     */
    readVisibleRows: (conversationId: string, rows: readonly VisibleRow[]) =>
      readRows(
        conversationId,
        neededRows(conversationId, rows).map((row) => (row.isResponse && mayHoldMarkers(row.body) ? withoutRaw(conversationId, row) : row)),
      ),
  }
}

const isResponse = ({ isResponse }: VisibleRow): boolean => isResponse

/**
 * The rows without the responses that do not change the timeline. A timeline contains only the last response with a decision. The first
 * response is kept too, because the first row with a time says when the conversation began.
 */
function neededRows(conversationId: string, rows: readonly VisibleRow[]): readonly VisibleRow[] {
  const first = rows.findIndex(isResponse)
  const last = rows.findLastIndex((row) => isResponse(row) && hasDecision(parseRow(conversationId, row)))
  return last <= first ? rows : rows.filter((row, index) => index <= first || index >= last || !isResponse(row))
}

/** Whether a stored response has a decision. Responses without a decision, such as titles and summaries, have a field `role`. */
const hasDecision = (value: unknown): boolean => isObject(value) && value.role === undefined

interface ChangePlace {
  readonly conversationId: string
  readonly seq: number
  readonly passNewer: boolean
}

function readChange(value: unknown, { conversationId, seq, passNewer }: ChangePlace): Change {
  const type = newerType(value)
  if (type !== undefined && passNewer) return value as Change // returned only to readers that pass the change on without reading it
  if (type === undefined) return parseChange(value)
  throw newerEntry(conversationId, seq, type)
}

/** The error for an entry that only a newer version of Daybook can read. */
export const newerEntry = (conversationId: string, seq: number, type: string): Failure =>
  new Failure(
    'conversation.newer',
    `a newer version of Daybook has written entry ${seq} of conversation ${conversationId} (${JSON.stringify(type)}): update this installation`,
    { details: { conversationId, seq, type } },
  )

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
    throw error instanceof Failure && error.code === 'conversation.newer' ? error : damagedRow(conversationId, seq, error)
  }
}

export function damagedRow(conversationId: string, seq: number, cause: unknown): Failure {
  const reason = errorMessage(cause)
  return new Failure(
    'store.damaged',
    `entry ${seq} of conversation ${conversationId} can not be read (${reason}): nothing was changed; restore a backup of the store`,
    {
      cause,
      details: { conversationId, seq },
    },
  )
}

/** Whether reading a row failed because a blob is missing. Another process may have deleted the conversation meanwhile. */
export const isMissingBlob = (error: unknown): boolean =>
  error instanceof Failure && error.cause instanceof Failure && error.cause.code === 'blob.missing'

/**
 * Reads again if a blob is missing. After the rows were read, another process may have deleted these rows or the conversation, and then the
 * blob. In this case the second read does not find the rows, so it does not need their blobs.
 */
export async function retryMissingBlob<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!isMissingBlob(error)) throw error
    return read()
  }
}
