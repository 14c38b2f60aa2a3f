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
} from './json-event.ts'

/**
 * Decides whether a quote ends a JSON string, or is part of the string and the model forgot to escape it. The text after the quote
 * decides. A quote with one of these texts after it ends the string:
 *
 *   a key               "…" :
 *   a value in {…}      "…" }      "…" , "next key" :      "…" , }
 *   a value in […]      "…" ]      "…" , [ { or "          "…" , 12 , or ]      "…" , ]
 *
 * Any other quote is text. The rule does not change the meaning of valid JSON: there, one of these texts follows every closing quote,
 * and inner quotes are escaped. Lanes and the parser of complete texts use the same rule, so they always agree.
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

/** Takes the next character after the quote. Called for one character after another until the result is not `undecided`. */
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
  // A key has no line break. So the reader waits for the end of a key at most until the end of the line.
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
