/**
 * The kinds of text that will probably be different tomorrow or for another user. Version numbers, prices, opening hours and examples look
 * like dates, times or ids, but they do not change. They are recognised by the text around them, such as `version` or `$`, and are not
 * reported.
 */
export type VolatileTextRule = 'date in system text' | 'time in system text' | 'id in system text'

export interface VolatileMatch {
  readonly rule: VolatileTextRule
  readonly at: number
  readonly length: number
  readonly advice: string
}

interface VolatilePattern {
  readonly rule: VolatileTextRule
  readonly regexp: RegExp
  /** A match is ignored when the text directly before it matches `unlessAfter`. */
  readonly unlessAfter?: RegExp
  /** A match is ignored when the text directly after it matches `unlessBefore`. */
  readonly unlessBefore?: RegExp
}

const adviceFor: { readonly [R in VolatileTextRule]: string } = {
  'date in system text': 'move changing values to the announce, which is never cached',
  'time in system text': 'move changing values to the announce, which is never cached',
  'id in system text': 'the id of a user, session or request makes the text different for each user, session or request: leave it out',
}

const months =
  'Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?'
const weekdays = 'Mon|Tues|Wednes|Thurs|Fri|Satur|Sun'
const year = '(?:19|20)\\d\\d'
const constantContext =
  /(?:\b(?:version|release[ds]?|api|v|since|cut-?off|founded|copyright|e\.g\.|like|such as|example|for instance|format)|©)[\s:=,("'`]*$/i
const isoDate = `${year}-\\d\\d-\\d\\d`
const money = /[$€£¥]\s?$/
const range = /\b\d{1,2}:\d\d\s*(?:-|–|to|and|until)\s*$/
const rangeContinues = /^\s*(?:-|–|to|and|until)\s*\d{1,2}:\d\d/

const date = (pattern: string): VolatilePattern => ({
  rule: 'date in system text',
  regexp: new RegExp(pattern, 'gi'),
  unlessAfter: constantContext,
})
const time = (pattern: string): VolatilePattern => ({
  rule: 'time in system text',
  regexp: new RegExp(pattern, 'gi'),
  unlessAfter: new RegExp(`${constantContext.source.replace(/\$$/, '')}(?:${isoDate}[T ])?$|${range.source}`, 'i'),
  unlessBefore: rangeContinues,
})
const id = (regexp: RegExp): VolatilePattern => ({ rule: 'id in system text', regexp })

const volatilePatterns: readonly VolatilePattern[] = [
  // The lookahead allows the letter T after the date, because T separates a date from a time.
  date(`(?<![a-z\\d])${year}([-/.])\\d{1,2}\\1\\d{1,2}(?![a-su-z\\d])`),
  date(`(?<!\\d)${year}年\\d{1,2}月\\d{1,2}日`),
  date(`(?<![\\d.])\\d{1,2}([/.])\\d{1,2}\\1${year}\\b(?!\\.\\d)`),
  date(`\\b(?:\\d{1,2}(?:\\.|st|nd|rd|th)? (?:of )?)?(?:${months})\\.?(?: \\d{1,2}(?:st|nd|rd|th)?,?)? ${year}\\b`),
  date(`\\b(?:today|now|currently)\\b[^.\\n]{0,20}\\b(?:${weekdays})day\\b`),
  time(`(?<![a-z\\d])${isoDate}[T ][0-2]\\d:[0-5]\\d(?::[0-5]\\d(?:[.,]\\d+)?)?(?:Z|[+-]\\d\\d:?\\d\\d)?`),
  time('(?<![\\w.:/+-])(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d)?\\b(?!:)'),
  time('(?<![\\w.:/-])\\d:[0-5]\\d(?::[0-5]\\d| ?[ap]\\.?m\\b)'),
  time(`\\b${year}[01]\\d[0-3]\\dT?[0-2]\\d[0-5]\\d[0-5]\\dZ?\\b`),
  {
    rule: 'time in system text',
    regexp: /(?<![\d.,])1[5-9]\d{8}(?:\d{3})?\b/g,
    unlessAfter: money,
    unlessBefore: /^(?:,\d|\.\d{1,2}(?!\d)|\s?(?:[$€£¥%]|[A-Z]{3}\b|dollars|euros|tokens|bytes))/,
  },
  id(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi),
  id(/\b(?:(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{16,}|turn_\d{6,}\w*)\b/gi),
  id(/\b0[0-7][0-9A-HJKMNP-TV-Z]{24}\b/g),
  id(
    /\b(?:user|usr|session|sess|request|req|conversation|conv|thread|run|trace|tenant|customer|cus|org)[_-](?=[a-z]*\d[a-z]*\d)[a-z0-9]{8,}\b/gi,
  ),
]

/** The first match of each rule in a text. */
export function findVolatileText(text: string): readonly VolatileMatch[] {
  const matches = new Map<VolatileTextRule, VolatileMatch>()
  for (const pattern of volatilePatterns) {
    if (matches.has(pattern.rule)) continue
    const match = [...text.matchAll(pattern.regexp)].find(({ 0: words, index }) => !isExempt(text, index, words.length, pattern))
    if (match) matches.set(pattern.rule, { rule: pattern.rule, at: match.index, length: match[0].length, advice: adviceFor[pattern.rule] })
  }
  return [...matches.values()]
}

const CONTEXT_CHARS = 24

function isExempt(text: string, at: number, length: number, { unlessAfter, unlessBefore }: VolatilePattern): boolean {
  const [before, after] = [text.slice(Math.max(0, at - CONTEXT_CHARS), at), text.slice(at + length, at + length + CONTEXT_CHARS)]
  return unlessAfter?.test(before) === true || unlessBefore?.test(after) === true
}
