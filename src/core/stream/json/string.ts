import { backslash, isTypographicQuote, type JsonRepair, quote } from './event.ts'

/** The greatest length of one emitted text. Events stay small even if a provider sends large chunks. */
const maxDeltaLength = 256

/** Decodes the content of a JSON string that arrives in chunks. */
export interface StringDecoder {
  /** Starts a string. If a straight quote opened the string, typographic quotes in it are text. */
  begin(opened: 'straight' | 'typographic'): void
  /** Decodes up to a quote that may end the string, or up to the end of the chunk. Returns the index at which it stopped. */
  read(chunk: string, from: number): number
  /** Adds the quote at which `read` stopped to the decoded text, because it does not end the string. */
  keep(quote: number): void
  /** Emits decoded text that has not been emitted yet. */
  flush(): void
  /** Ends the string. Half of a surrogate pair becomes U+FFFD. An incomplete escape sequence is dropped. */
  finish(): void
}

export function createStringDecoder(emit: (text: string) => void, note: (repair: JsonRepair) => void): StringDecoder {
  let typographic = false
  let decoded = ''
  let pending = '' // the part of an escape sequence that has arrived so far
  let high = 0

  function append(text: string) {
    if (decoded.length + text.length > maxDeltaLength) flush()
    decoded += text
  }

  function plain(chunk: string, from: number, to: number) {
    if (high !== 0) loneHigh()
    let start = from
    while (decoded.length + to - start > maxDeltaLength) {
      const end = start + maxDeltaLength - decoded.length
      decoded += chunk.slice(start, end)
      start = end
      flush()
    }
    decoded += chunk.slice(start, to)
  }

  /**
   * Adds one decoded UTF-16 unit. The two units of a surrogate pair are joined, even if only one of them was written as an escape sequence.
   */
  function unit(code: number) {
    if (high !== 0 && code >= 0xdc00 && code <= 0xdfff) {
      const pair = String.fromCharCode(high, code)
      high = 0
      append(pair)
      return
    }
    if (high !== 0) loneHigh()
    if (code >= 0xd800 && code <= 0xdbff) high = code
    else append(code >= 0xdc00 && code <= 0xdfff ? '\uFFFD' : String.fromCharCode(code))
  }

  function loneHigh() {
    high = 0
    append('\uFFFD')
  }

  /**
   * Continues an escape sequence with the character at `index`. Returns the index to read next. An invalid escape sequence becomes text.
   */
  function continueEscape(chunk: string, index: number): number {
    const character = chunk[index] as string
    if (pending === '\\' && character === 'u') {
      pending = '\\u'
      return index + 1
    }
    if (pending === '\\') {
      const code = unescaped(character)
      if (code === undefined) return abandonEscape(index)
      pending = ''
      unit(code)
      return index + 1
    }
    if (!isHexDigit(character.charCodeAt(0))) return abandonEscape(index)
    pending += character
    if (pending.length === 6) {
      const code = Number.parseInt(pending.slice(2), 16)
      pending = ''
      unit(code)
    }
    return index + 1
  }

  function abandonEscape(index: number): number {
    note('unknown_escape')
    const text = pending
    pending = ''
    plain(text, 0, text.length)
    return index
  }

  function flush() {
    if (decoded === '') return
    const text = decoded
    decoded = ''
    emit(text)
  }

  return {
    begin(opened) {
      typographic = opened === 'typographic'
      decoded = ''
      pending = ''
      high = 0
    },
    read(chunk, from) {
      let index = from
      const length = chunk.length
      while (index < length) {
        if (pending !== '') {
          index = continueEscape(chunk, index)
          continue
        }
        const start = index
        let code = 0
        while (index < length) {
          code = chunk.charCodeAt(index)
          if (code < 0x20 || code === quote || code === backslash || (code >= 0x201c && isSpecial(code, typographic))) break
          index++
        }
        if (index > start) plain(chunk, start, index)
        if (index === length) break
        if (code === quote || isTypographicQuote(code)) return index
        if (code === backslash) pending = '\\'
        else unit(code)
        if (code < 0x20) note('control_character')
        index++
      }
      return length
    },
    keep: unit,
    flush,
    finish() {
      if (high !== 0) loneHigh()
      flush()
    },
  }
}

function unescaped(character: string): number | undefined {
  switch (character) {
    case '"':
    case '\\':
    case '/':
      return character.charCodeAt(0)
    case 'b':
      return 0x08
    case 'f':
      return 0x0c
    case 'n':
      return 0x0a
    case 'r':
      return 0x0d
    case 't':
      return 0x09
    default:
      return undefined
  }
}

function isSpecial(code: number, typographic: boolean): boolean {
  return (code >= 0xd800 && code <= 0xdfff) || (typographic && isTypographicQuote(code))
}

function isHexDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66) || (code >= 0x41 && code <= 0x46)
}
