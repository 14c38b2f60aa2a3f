import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isSpace,
  isTokenCharacter,
  isTypographicQuote,
  openBrace,
  openBracket,
  parseScalar,
  quote,
} from './event.ts'

/**
 * Decides whether a quote ends a JSON string, or is part of the string because the model forgot to escape it. The text after the quote
 * decides. A quote ends the string if one of these texts follows:
 *
 *   after a key              :
 *   after a value in {…}     }     or  , }     or  , "next key" :
 *   after a value in […]     ]     or  , ]     or  , [     or  , {     or  , "     or  , 12 ,     or  , 12 ]
 *
 * Any other quote is part of the string. Valid JSON is read correctly, because one of these texts follows every closing quote, and quotes
 * inside strings are escaped. Lanes and `parseModelJson` use the same rule, so a string that was shown is equal to the parsed string.
 */
export interface ClosingQuoteRule {
  inside: 'key' | 'object' | 'array'
  phase: 'quote' | 'comma' | 'key' | 'escape' | 'key-end' | 'token' | 'token-end'
  token: string
  straightKey: boolean
}

type Verdict = 'closes' | 'inside' | 'undecided'

export function createClosingQuoteRule(): ClosingQuoteRule {
  return { inside: 'key', phase: 'quote', token: '', straightKey: true }
}

export function startClosingQuote(rule: ClosingQuoteRule, inside: ClosingQuoteRule['inside']): void {
  rule.inside = inside
  rule.phase = 'quote'
}

/** Reads the next character after the quote. Call it for each character until the result is not `undecided`. */
export function stepClosingQuote(rule: ClosingQuoteRule, code: number): Verdict {
  switch (rule.phase) {
    case 'quote':
      return afterQuote(rule, code)
    case 'comma':
      return afterComma(rule, code)
    case 'key':
      return inKey(rule, code)
    case 'escape':
      rule.phase = 'key'
      return code < 0x20 ? 'inside' : 'undecided'
    case 'key-end':
      return isSpace(code) ? 'undecided' : code === colon ? 'closes' : 'inside'
    case 'token':
    case 'token-end':
      return inToken(rule, code)
    default:
      return rule.phase satisfies never
  }
}

function afterQuote(rule: ClosingQuoteRule, code: number): Verdict {
  if (isSpace(code)) return 'undecided'
  if (rule.inside === 'key') return code === colon ? 'closes' : 'inside'
  if (code === (rule.inside === 'object' ? closeBrace : closeBracket)) return 'closes'
  if (code !== comma) return 'inside'
  rule.phase = 'comma'
  return 'undecided'
}

function afterComma(rule: ClosingQuoteRule, code: number): Verdict {
  if (isSpace(code)) return 'undecided'
  if (rule.inside === 'array') {
    if (code === closeBracket || code === quote || code === openBrace || code === openBracket || isTypographicQuote(code)) return 'closes'
    if (!isTokenCharacter(code)) return 'inside'
    rule.phase = 'token'
    rule.token = String.fromCharCode(code)
    return 'undecided'
  }
  if (code === closeBrace) return 'closes'
  if (code !== quote && !isTypographicQuote(code)) return 'inside'
  rule.phase = 'key'
  rule.straightKey = code === quote
  return 'undecided'
}

function inKey(rule: ClosingQuoteRule, code: number): Verdict {
  // A key contains no line break. If the line ends inside the text that may be a key, it is not a key, and the quote before it is part of
  // the string.
  if (code < 0x20) return 'inside'
  if (code === backslash) rule.phase = 'escape'
  else if (code === quote || (!rule.straightKey && isTypographicQuote(code))) rule.phase = 'key-end'
  return 'undecided'
}

function inToken(rule: ClosingQuoteRule, code: number): Verdict {
  if (rule.phase === 'token' && isTokenCharacter(code)) rule.token += String.fromCharCode(code)
  else if (isSpace(code)) rule.phase = 'token-end'
  else return (code === comma || code === closeBracket) && parseScalar(rule.token) !== undefined ? 'closes' : 'inside'
  return 'undecided'
}
