import { errorMessage, Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'
import { parseChange } from '../../../core/timeline/parse-change.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Entry } from '../../../ports/store.ts'
import { decodeRow, largeTextsOf, mayHoldMarkers } from '../shared/large-text.ts'

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
