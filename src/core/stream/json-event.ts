/** Where a value sits: the keys and indices from the root to it. The root itself is the empty path. */
export type JsonPath = readonly (string | number)[]

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/**
 * What the reader saw. Every start has its end; `aborted` says that the text stopped or broke before the value was whole.
 * Joined, the deltas of a string are its decoded text, free of lone surrogates.
 */
export type JsonEvent =
  | { readonly type: 'object.start' | 'array.start'; readonly path: JsonPath }
  | { readonly type: 'object.end' | 'array.end'; readonly path: JsonPath; readonly aborted: boolean }
  | { readonly type: 'string.start'; readonly path: JsonPath }
  | { readonly type: 'string.delta'; readonly path: JsonPath; readonly text: string }
  | { readonly type: 'string.end'; readonly path: JsonPath; readonly aborted: boolean }
  | { readonly type: 'scalar'; readonly path: JsonPath; readonly value: number | boolean | null }

/** What had to be forgiven to read the text. A fence around it is how models write JSON, and needs no forgiveness. */
export type JsonRepair =
  | 'surrounding_text'
  | 'trailing_comma'
  | 'control_character'
  | 'typographic_quote'
  | 'inner_quote'
  | 'unknown_escape'

/** Deeper than any honest action, shallow enough that everyone after us may recurse. */
export const maxJsonDepth = 128

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The value of a bare word or number; undefined when JSON has no such word. */
export function parseScalar(token: string): number | boolean | null | undefined {
  if (token === 'true') return true
  if (token === 'false') return false
  if (token === 'null') return null
  return number.test(token) ? Number(token) : undefined
}

export function isTokenCharacter(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x2e
  )
}

export function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** “ ” „ ‟: what word processors make of a double quote. */
export function isTypographicQuote(code: number): boolean {
  return code >= 0x201c && code <= 0x201f
}
