import { isSpace, isTokenCharacter, isTypographicQuote, parseScalar } from './json-event.ts'

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

/** Takes the characters after the quote, one by one, until it can tell. */
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
      return isSpace(code) ? 'undecided' : code === 0x3a ? 'closes' : 'inside'
    case 'token':
    case 'token-end':
      return inToken(rule, code)
    default:
      return rule.phase satisfies never
  }
}

function afterQuote(rule: ClosingQuoteRule, code: number): Verdict {
  if (isSpace(code)) return 'undecided'
  if (rule.inside === 'key') return code === 0x3a ? 'closes' : 'inside'
  if (code === (rule.inside === 'object' ? 0x7d : 0x5d)) return 'closes'
  if (code !== 0x2c) return 'inside'
  rule.phase = 'comma'
  return 'undecided'
}

function afterComma(rule: ClosingQuoteRule, code: number): Verdict {
  if (isSpace(code)) return 'undecided'
  if (rule.inside === 'array') {
    if (code === 0x5d || code === 0x22 || code === 0x7b || code === 0x5b || isTypographicQuote(code)) return 'closes'
    if (!isTokenCharacter(code)) return 'inside'
    rule.phase = 'token'
    rule.token = String.fromCharCode(code)
    return 'undecided'
  }
  if (code === 0x7d) return 'closes'
  if (code !== 0x22 && !isTypographicQuote(code)) return 'inside'
  rule.phase = 'key'
  rule.straightKey = code === 0x22
  return 'undecided'
}

function inKey(rule: ClosingQuoteRule, code: number): Verdict {
  // A line break ends the hope for a key at once, so that prose is not held back for more than its line.
  if (code < 0x20) return 'inside'
  if (code === 0x5c) rule.phase = 'escape'
  else if (code === 0x22 || (!rule.straightKey && isTypographicQuote(code))) rule.phase = 'key-end'
  return 'undecided'
}

function inToken(rule: ClosingQuoteRule, code: number): Verdict {
  if (rule.phase === 'token' && isTokenCharacter(code)) rule.token += String.fromCharCode(code)
  else if (isSpace(code)) rule.phase = 'token-end'
  else return (code === 0x2c || code === 0x5d) && parseScalar(rule.token) !== undefined ? 'closes' : 'inside'
  return 'undecided'
}
