import { rememberLatestBlock } from '../../block/reader.ts'

/** A call, and its parameters as `JSON.stringify(params, null, 2)` prints them. */
export interface PlainCall {
  readonly tool_id: string
  readonly tool_call_id: string
  readonly params: string
}

/**
 * A short call with parameters of plain words and whole numbers, written as `toolCall` writes it. Most are:
 *
 *   {"tool_id":"web.weather","tool_call_id":"5d1c0a","params":{"city":"Oslo","days":3},"ts":"2026-01-01T00:00:00.000Z"}
 *
 * What is shown of it is taken from the text: to make an object of that, only to print it again, takes twice the time. Undefined for
 * any other call, which is then read in full; a call that is read here reads the same there.
 */
export const readPlainCall = rememberLatestBlock(['react.tool.call'], ({ text = '' }) => parsePlainCall(text))

const maxLength = 400
const [head, toCall, toParams, toTime] = ['{"tool_id":"', '","tool_call_id":"', '","params":{', '},"ts":"']
const [quote, comma, minus, zero, nine, colon, backslash, closing] = [0x22, 0x2c, 0x2d, 0x30, 0x39, 0x3a, 0x5c, 0x7d]

export function parsePlainCall(text: string): PlainCall | undefined {
  if (text.length > maxLength || !matchesAt(text, 0, head)) return undefined
  const toolEnd = endOfPlainString(text, head.length)
  if (!matchesAt(text, toolEnd, toCall)) return undefined
  const callEnd = endOfPlainString(text, toolEnd + toCall.length)
  if (!matchesAt(text, callEnd, toParams)) return undefined
  const start = callEnd + toParams.length
  let params = ''
  let at = start
  while (text.charCodeAt(at) !== closing) {
    if (at !== start && text.charCodeAt(at++) !== comma) return undefined
    const value = endOfKey(text, at)
    const end = value === -1 ? -1 : endOfValue(text, value)
    if (end === -1) return undefined
    const key = text.slice(at, value)
    if (text.indexOf(key, start) !== at) return undefined // of a key that stands twice the last value counts
    params += `${params === '' ? '{' : ','}\n  ${key} ${text.slice(value, end)}`
    at = end
  }
  if (!matchesAt(text, at, toTime) || endOfPlainString(text, at + toTime.length) !== text.length - 2 || !text.endsWith('}'))
    return undefined
  return {
    tool_id: text.slice(head.length, toolEnd),
    tool_call_id: text.slice(toolEnd + toCall.length, callEnd),
    params: params === '' ? '{}' : `${params}\n}`,
  }
}

function matchesAt(text: string, at: number, words: string): boolean {
  for (let index = 0; index < words.length; index++) if (text.charCodeAt(at + index) !== words.charCodeAt(index)) return false
  return true
}

/** Where the quote stands that closes a string of printable ASCII without escapes; -1 when it is none. */
function endOfPlainString(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code < 32 || code > 126 || code === backslash) return -1
  }
  return -1
}

/** Behind the colon. A key that begins like a number may be moved to the front. */
function endOfKey(text: string, start: number): number {
  if (text.charCodeAt(start) !== quote || isDigit(text.charCodeAt(start + 1))) return -1
  const end = endOfPlainString(text, start + 1)
  return end !== -1 && text.charCodeAt(end + 1) === colon ? end + 2 : -1
}

function endOfValue(text: string, start: number): number {
  if (text.charCodeAt(start) === quote) {
    const end = endOfPlainString(text, start + 1)
    return end === -1 ? -1 : end + 1
  }
  return endOfNumber(text, start)
}

/** As it is printed, too: no fraction, no exponent, no zero before it, no more digits than are kept. */
function endOfNumber(text: string, start: number): number {
  const digits = text.charCodeAt(start) === minus ? start + 1 : start
  let end = digits
  while (isDigit(text.charCodeAt(end))) end++
  const plain = text.charCodeAt(digits) === zero ? end === start + 1 : end > digits
  return plain && end - digits <= 15 ? end : -1
}

const isDigit = (code: number) => code >= zero && code <= nine
