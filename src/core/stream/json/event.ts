/** The keys and indices that lead from the root value to an inner value. The path of the root is empty. */
export type JsonPath = readonly (string | number)[]

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/**
 * An event of the JSON reader. Every start event has an end event. `aborted` is true when the text ended or became invalid before the value
 * was complete. The deltas of a string contain its decoded text. Halves of surrogate pairs are replaced.
 */
export type JsonEvent =
  | { readonly type: 'object.start' | 'array.start'; readonly path: JsonPath }
  | { readonly type: 'object.end' | 'array.end'; readonly path: JsonPath; readonly aborted: boolean }
  | { readonly type: 'string.start'; readonly path: JsonPath }
  | { readonly type: 'string.delta'; readonly path: JsonPath; readonly text: string }
  | { readonly type: 'string.end'; readonly path: JsonPath; readonly aborted: boolean }
  | { readonly type: 'scalar'; readonly path: JsonPath; readonly value: number | boolean | null }

/** A mistake in JSON that the reader corrected. A code fence around the JSON is not a mistake. */
export type JsonRepair =
  | 'surrounding_text'
  | 'trailing_comma'
  | 'control_character'
  | 'typographic_quote'
  | 'inner_quote'
  | 'unknown_escape'

/**
 * JSON with deeper nesting is rejected. Valid actions are never nested so deeply, and up to this depth recursive functions do not overflow
 * the stack.
 */
export const maxJsonDepth = 128

// Character codes.
export const quote = 0x22
export const comma = 0x2c
export const colon = 0x3a
export const openBracket = 0x5b
export const backslash = 0x5c
export const closeBracket = 0x5d
export const backtick = 0x60
export const openBrace = 0x7b
export const closeBrace = 0x7d

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The value of a number or of `true`, `false` or `null`. Undefined for any other token. */
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

/** Whether the character is one of the typographic double quotes “ ” „ ‟. */
export function isTypographicQuote(code: number): boolean {
  return code >= 0x201c && code <= 0x201f
}
