import { isSpace, isTokenCharacter, isTypographicQuote, readScalar } from './json-event.ts'

/**
 * Does this quote end the string, or did the model forget to escape it? What follows decides:
 *
 *   a key               "…" :
 *   a value in {…}      "…" }      "…" , "next key" :      "…" , }
 *   a value in […]      "…" ]      "…" , [ { or "          "…" , 12 , or ]      "…" , ]
 *
 * Anything else, and the quote is text. In valid JSON every closing quote passes and no inner quote is bare, so the rule never
 * changes the meaning of valid JSON. The live lanes and the parser of the whole text both read through it: they can not disagree.
 */
export interface ClosingRule {
  begin(inside: 'key' | 'object' | 'array'): void
  /** Takes the characters after the quote, one by one, until it can tell. */
  step(code: number): 'closes' | 'inside' | 'undecided'
}

export function createClosingRule(): ClosingRule {
  let inside: 'key' | 'object' | 'array' = 'key'
  let phase: 'quote' | 'comma' | 'key' | 'escape' | 'key-end' | 'token' | 'token-end' = 'quote'
  let token = ''
  let straightKey = true

  function afterComma(code: number) {
    if (isSpace(code)) return 'undecided'
    if (inside === 'array') {
      if (code === 0x5d || code === 0x22 || code === 0x7b || code === 0x5b || isTypographicQuote(code)) return 'closes'
      if (!isTokenCharacter(code)) return 'inside'
      phase = 'token'
      token = String.fromCharCode(code)
      return 'undecided'
    }
    if (code === 0x7d) return 'closes'
    if (code !== 0x22 && !isTypographicQuote(code)) return 'inside'
    phase = 'key'
    straightKey = code === 0x22
    return 'undecided'
  }

  function afterQuote(code: number) {
    if (isSpace(code)) return 'undecided'
    if (inside === 'key') return code === 0x3a ? 'closes' : 'inside'
    if (code === (inside === 'object' ? 0x7d : 0x5d)) return 'closes'
    if (code !== 0x2c) return 'inside'
    phase = 'comma'
    return 'undecided'
  }

  function inKey(code: number) {
    // A line break ends the hope for a key at once, so that prose is not held back for more than its line.
    if (code < 0x20) return 'inside'
    if (code === 0x5c) phase = 'escape'
    else if (code === 0x22 || (!straightKey && isTypographicQuote(code))) phase = 'key-end'
    return 'undecided'
  }

  function inToken(code: number) {
    if (phase === 'token' && isTokenCharacter(code)) token += String.fromCharCode(code)
    else if (isSpace(code)) phase = 'token-end'
    else return (code === 0x2c || code === 0x5d) && readScalar(token) !== undefined ? 'closes' : 'inside'
    return 'undecided'
  }

  return {
    begin(where) {
      inside = where
      phase = 'quote'
    },
    step(code) {
      switch (phase) {
        case 'quote':
          return afterQuote(code)
        case 'comma':
          return afterComma(code)
        case 'key':
          return inKey(code)
        case 'escape':
          phase = 'key'
          return code < 0x20 ? 'inside' : 'undecided'
        case 'key-end':
          return isSpace(code) ? 'undecided' : code === 0x3a ? 'closes' : 'inside'
        case 'token':
        case 'token-end':
          return inToken(code)
        default:
          return phase satisfies never
      }
    },
  }
}
