import { isObject } from '../../../core/json.ts'

/**
 * How a change becomes a row, and a row a change again. Text beyond 8 KB leaves the row:
 *
 *   "…ten thousand characters…"   <->   {"$blob":{"sha256":"…","size":10000}}
 *   {"$blob": 1}                  <->   {"$literal":{"$blob":1}}         somebody's own object of that shape
 *
 * Halves of surrogate pairs have no UTF-8: text that holds one stays in the row, where JSON escapes it. So do names, however long:
 * what a block is found by can be read from its row alone.
 */
export const LARGE_TEXT = 8 * 1024

export interface EncodedRow {
  readonly body: string
  /** Large texts by hash, to be stored before the row. */
  readonly texts: ReadonlyMap<string, Uint8Array>
}

const noTexts: EncodedRow['texts'] = new Map()
const BLOB = '$blob'
const LITERAL = '$literal'

export function encodeRow(change: unknown, hash: (bytes: Uint8Array) => string): EncodedRow {
  const body = JSON.stringify(change)
  if (Buffer.byteLength(body) <= LARGE_TEXT && !mayHoldMarkers(body)) return { body, texts: noTexts } // escaping only ever makes text longer
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

/** Hashes of the texts that a row needs. */
export function largeTextsOf(row: unknown): readonly string[] {
  const found: string[] = []
  decode(row, (sha256) => {
    found.push(sha256)
    return ''
  })
  return found
}

/** `text` gives each large text by its hash. */
export const decodeRow = (row: unknown, text: (sha256: string) => string): unknown => decode(row, text)

/** False when the row is the change, letter for letter. */
export const mayHoldMarkers = (body: string): boolean => body.includes('$') && (body.includes(`"${BLOB}"`) || body.includes(`"${LITERAL}"`)) // one letter is found much faster

const nameFields: ReadonlySet<string> = new Set(['id', 'type', 'turn_id', 'ts', 'path', 'call_id', 'tool_call_id'])

function encode(value: unknown, keep: (text: string) => unknown): unknown {
  if (typeof value === 'string') return keep(value)
  if (Array.isArray(value)) return value.map((held) => encode(held, keep))
  if (!isObject(value)) return value
  const encoded = mapValues(value, (held, key) => (nameFields.has(key) && typeof held === 'string' ? held : encode(held, keep)))
  return markerOf(value) === undefined ? encoded : { [LITERAL]: encoded }
}

function decode(value: unknown, text: (sha256: string) => string): unknown {
  if (Array.isArray(value)) return value.map((held) => decode(held, text))
  if (!isObject(value)) return value
  const mark = markerOf(value)
  if (mark === undefined) return mapValues(value, (held) => decode(held, text))
  const held = value[mark]
  if (mark === LITERAL && isObject(held)) return mapValues(held, (inner) => decode(inner, text))
  if (mark === BLOB && isObject(held) && typeof held.sha256 === 'string') return text(held.sha256)
  throw new TypeError(`${mark} holds neither a reference nor an object`)
}

function markerOf(value: object): typeof BLOB | typeof LITERAL | undefined {
  const [key, another] = Object.keys(value)
  return another === undefined && (key === BLOB || key === LITERAL) ? key : undefined
}

const mapValues = (value: object, to: (held: unknown, key: string) => unknown) =>
  Object.fromEntries(Object.entries(value).map(([key, held]) => [key, to(held, key)]))
