import { Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'

/**
 * A text with more UTF-8 bytes than this is stored as a blob, not in the row of its change. `encodeRow` and `decodeRow` convert:
 *
 *   "…ten thousand characters…"   <->   {"$blob":{"sha256":"…","size":10000}}
 *   {"$blob": 1}                  <->   {"$literal":{"$blob":1}}         an object of a user that looks like a reference
 *
 * A text with half a surrogate pair stays in the row, because UTF-8 can not encode it. The fields in `nameFields` also stay in the row, so
 * that a store can index entries by id, path and call without reading blobs.
 */
export const LARGE_TEXT = 8 * 1024

interface EncodedRow {
  readonly body: string
  /** The large texts as UTF-8, by hash. The caller stores them before the row. */
  readonly texts: ReadonlyMap<string, Uint8Array>
}

const BLOB = '$blob'
const LITERAL = '$literal'
const nameFields: ReadonlySet<string> = new Set(['id', 'type', 'turn_id', 'ts', 'path', 'call_id', 'tool_call_id'])

export function encodeRow(change: unknown, hash: (bytes: Uint8Array) => string): EncodedRow {
  const body = toText(change)
  // no text in a short body can be large
  if (Buffer.byteLength(body) <= LARGE_TEXT && !mayHoldMarkers(body)) return { body, texts: new Map() }
  const texts = new Map<string, Uint8Array>()
  const encoded = encode(change, (text) => {
    if (text.length * 3 <= LARGE_TEXT || !text.isWellFormed() || Buffer.byteLength(text) <= LARGE_TEXT) return text
    const bytes = Buffer.from(text)
    const sha256 = hash(bytes)
    texts.set(sha256, bytes)
    return { [BLOB]: { sha256, size: bytes.length } }
  })
  return { body: JSON.stringify(encoded), texts }
}

/**
 * The JSON of a change. Throws if it is longer than a JavaScript string can be. JSON escapes control characters, so each of them takes
 * several characters.
 */
function toText(change: unknown): string {
  try {
    return JSON.stringify(change)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Failure('change.invalid', 'the change is too large to be stored', { cause: error })
  }
}

function encode(value: unknown, encodeText: (text: string) => unknown): unknown {
  if (typeof value === 'string') return encodeText(value)
  if (Array.isArray(value)) return value.map((item) => encode(item, encodeText))
  if (!isObject(value)) return value
  const encoded = mapValues(value, (field, key) => (nameFields.has(key) && typeof field === 'string' ? field : encode(field, encodeText)))
  return markerOf(value) === undefined ? encoded : { [LITERAL]: encoded }
}

/** Returns the change of a parsed row. `textOf` returns a large text by its hash. An invalid `$blob` or `$literal` throws a TypeError. */
export function decodeRow(value: unknown, textOf: (sha256: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => decodeRow(item, textOf))
  if (!isObject(value)) return value
  const marker = markerOf(value)
  if (marker === undefined) return mapValues(value, (field) => decodeRow(field, textOf))
  const marked = value[marker]
  if (marker === LITERAL && isObject(marked)) return mapValues(marked, (field) => decodeRow(field, textOf))
  if (marker === BLOB && isObject(marked) && typeof marked.sha256 === 'string') return textOf(marked.sha256)
  throw new TypeError(`the value of ${marker} is neither a reference nor an object`)
}

/** The hashes of the large texts that a parsed row refers to. */
export function largeTextsOf(row: unknown): readonly string[] {
  const hashes: string[] = []
  decodeRow(row, (sha256) => {
    hashes.push(sha256)
    return ''
  })
  return hashes
}

/** Whether a row may contain `$blob` or `$literal` and needs decoding. Searching for the single character `$` first saves 2 µs per row. */
export const mayHoldMarkers = (body: string): boolean => body.includes('$') && (body.includes(`"${BLOB}"`) || body.includes(`"${LITERAL}"`))

function markerOf(value: object): typeof BLOB | typeof LITERAL | undefined {
  const [key, another] = Object.keys(value)
  return another === undefined && (key === BLOB || key === LITERAL) ? key : undefined
}

const mapValues = (object: object, map: (value: unknown, key: string) => unknown) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]))
