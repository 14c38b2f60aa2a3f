/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json }

/**
 * The deepest nesting that `parseJson` accepts. The code that visits nested values is recursive. Without a limit, a text of 20 KB could
 * have 10,000 levels and cause a stack overflow.
 */
export const maximumJsonDepth = 256

/**
 * Parses JSON. Returns undefined when the text is not JSON or is nested too deeply. It does not throw, because models and tools may write
 * any text.
 */
export function parseJson(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined
  try {
    const value = JSON.parse(text) as Json
    return isTooDeep(text) ? undefined : value
  } catch {
    return undefined
  }
}

const [quote, openList, closeList, openObject, closeObject] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d]

/** True when a valid JSON text is nested deeper than `maximumJsonDepth`. */
function isTooDeep(text: string): boolean {
  if (text.length <= maximumJsonDepth) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === quote) at = endOfString(text, at)
    else if (character === openList || character === openObject) depth++
    else if (character === closeList || character === closeObject) depth--
    if (depth > maximumJsonDepth) return true
  }
  return false
}

/** The position of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

/** True for an object that is neither null nor an array. */
export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Whether all values are strings, finite numbers or booleans. A shallow copy of such an object equals the object that is parsed from its
 * JSON text.
 */
export function isFlat(object: JsonObject): boolean {
  for (const name in object) {
    const value = object[name]
    const isPlainValue = typeof value === 'string' || typeof value === 'boolean' || (Number.isFinite(value) && !Object.is(value, -0))
    if (!isPlainValue || name === '__proto__') return false
  }
  return true
}

/**
 * The object without the keys whose value is undefined. The result equals the object that is read back after it was stored as JSON. If no
 * key has the value undefined, the given object itself is returned.
 */
export function omitUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  type Result = { [K in keyof T]: Exclude<T[K], undefined> }
  if (Object.values(value).every((field) => field !== undefined)) return value as Result
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Result
}

/** The number of characters in all strings of a JSON value. Stops counting at `limit`. */
export function textSize(value: unknown, limit = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let size = 0
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    size += textSize(item, limit - size)
    if (size >= limit) return size
  }
  return size
}
