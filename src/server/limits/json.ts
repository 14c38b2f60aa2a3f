import { setImmediate as pause } from 'node:timers/promises'
import { invalidRequest, RequestProblem } from '../problem.ts'

/**
 * Limits of a JSON body. They are checked before the body is parsed, because a body of many small values takes more memory and time than
 * its size suggests.
 */
interface JsonLimits {
  /**
   * How deep lists and objects may be nested. Valid requests are nested less deeply. At this depth, a recursive function does not overflow
   * the stack yet.
   */
  readonly depth: number
  /** How many values all lists and objects of the body may have together. */
  readonly values: number
  /** How many keys one object may have. */
  readonly keys: number
}

export const jsonLimits: JsonLimits = { depth: 64, values: 500_000, keys: 10_000 }

/** How many bytes are scanned without a pause. After each slice of this size, the server can handle other requests. */
const sliceBytes = 1024 * 1024

/** Parses a body as JSON. Rejects a body that is not UTF-8, is not JSON, exceeds a limit, or has a string with half of a surrogate pair. */
export async function parseJsonBody(bytes: Uint8Array, limits: JsonLimits = jsonLimits): Promise<unknown> {
  const scanner = createJsonScanner(limits)
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    scanner.scan(bytes.subarray(at, at + sliceBytes))
    if (bytes.length > sliceBytes) await pause()
  }
  const text = decodeUtf8(bytes)
  const value = parseJsonText(text)
  if (bytes.length > sliceBytes) await pause()
  if (!isWellFormed(value)) throw invalidRequest([{ message: 'the text contains half of a surrogate pair' }])
  return value
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalidRequest([{ message: 'the body is not UTF-8' }])
  }
}

function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidRequest([{ message: 'the body is not JSON' }])
  }
}

const openList = 0x5b
const openObject = 0x7b
const closeList = 0x5d
const closeObject = 0x7d
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c

/**
 * Counts the nesting, the values and the keys of a JSON text that arrives in slices of bytes. If the text exceeds a limit, throws a problem
 * that names the limit. The text is not parsed, because a parser would use the memory before the limits are checked. The scanner may look
 * at single bytes: in UTF-8, no byte of a longer character equals a bracket, a comma or a quote.
 */
export function createJsonScanner(limits: JsonLimits): {
  scan(bytes: Uint8Array): void
  readonly deepest: number
  readonly values: number
} {
  /**
   * Has a number for each list or object that is open at this position. For an object it is the number of keys so far. For a list it is
   * minus infinity, which never reaches the limit of keys.
   */
  const keys: number[] = []
  let values = 1
  let deepest = 0
  let quoted = false
  let escaped = false

  function open(code: number): void {
    values++
    keys.push(code === openObject ? 1 : Number.NEGATIVE_INFINITY)
    deepest = Math.max(deepest, keys.length)
    if (deepest > limits.depth) throw invalidRequest([{ message: `nested deeper than ${limits.depth}` }])
  }

  function separate(): void {
    values++
    const count = (keys.pop() ?? 0) + 1
    keys.push(count)
    if (count > limits.keys) throw tooMuchJson(`an object has more than ${limits.keys} keys`)
    if (values > limits.values) throw tooMuchJson(`the body has more than ${limits.values} values`)
  }

  return {
    scan(bytes) {
      for (const code of bytes) {
        if (escaped) escaped = false
        else if (quoted) {
          if (code === backslash) escaped = true
          else if (code === quote) quoted = false
        } else if (code === quote) quoted = true
        else if (code === comma) separate()
        else if (code === openList || code === openObject) open(code)
        else if (code === closeList || code === closeObject) keys.pop()
      }
    },
    get deepest() {
      return deepest
    },
    get values() {
      return values
    },
  }
}

const tooMuchJson = (what: string) => new RequestProblem(413, 'request.too_large', `The request is too large: ${what}.`)

/**
 * Whether all strings are well-formed. A string with half of a surrogate pair is not well-formed, and a store can not save it unchanged.
 * The function is recursive, so the depth of `value` must have been checked before.
 */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  return Object.entries(value).every(([key, item]) => key.isWellFormed() && isWellFormed(item))
}
