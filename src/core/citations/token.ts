/**
 * The result of reading a citation token. The text may end inside the token. A token has at most 96 characters and this form:
 *
 *   '[[' space* ( 'S' | 'USAGE' ) space* ':' body ']]'        the body has no brackets
 *
 * Models also write full-width brackets and other colons and dashes, so these characters are read like their ASCII forms. Invisible
 * characters inside a token are ignored.
 */
export type TokenMatch =
  | { readonly kind: 'none' }
  /** The text ends inside a possible token. `cite` tells whether it may become a citation, `usage` whether it may become a usage tag. */
  | { readonly kind: 'partial'; readonly cite: boolean; readonly usage: boolean }
  | { readonly kind: 'cite' | 'usage'; readonly ids: readonly number[]; readonly end: number }

const maxTokenLength = 96
const maxRange = 101
const maxDigits = 15

const noToken: TokenMatch = { kind: 'none' }
const either: TokenMatch = { kind: 'partial', cite: true, usage: true }
const citeOnly: TokenMatch = { kind: 'partial', cite: true, usage: false }
const usageOnly: TokenMatch = { kind: 'partial', cite: false, usage: true }

/** True for a character that can be the first of a token. */
export const opensToken = (code: number): boolean => code === 91 || code === 0xff3b

/** Reads the token that may start with the bracket at `at`. */
export function readToken(text: string, at: number): TokenMatch {
  const end = Math.min(text.length, at + maxTokenLength)
  const cut = text.length < at + maxTokenLength
  let index = skipInvisible(text, at + 1, end)
  if (index === end) return cut ? either : noToken
  if (!opensToken(text.charCodeAt(index))) return noToken

  index = skipSpace(text, index + 1, end)
  if (index === end) return cut ? either : noToken
  const isUsage = (text.charCodeAt(index) | 32) === 117
  const partial = cut ? (isUsage ? usageOnly : citeOnly) : noToken
  for (const letter of isUsage ? usageLetters : citeLetters) {
    index = skipInvisible(text, index, end)
    if (index === end) return partial
    if ((text.charCodeAt(index) | 32) !== letter) return noToken
    index++
  }
  index = skipSpace(text, index, end)
  if (index === end) return partial
  if (!isColon(text.charCodeAt(index))) return noToken

  const bodyStart = index + 1
  index = bodyStart
  while (index < end && !isBracket(text.charCodeAt(index))) index++
  if (index === end) return text.length + 2 <= at + maxTokenLength ? partial : noToken
  if (opensToken(text.charCodeAt(index))) return noToken
  const single = readNumber(text, bodyStart, index)
  const body = single === undefined ? normalizeBody(text.slice(bodyStart, index)) : ''
  const ids = single === undefined ? parseIds(body) : [single]
  if (isUsage && single === undefined ? body === '' : ids.length === 0) return noToken
  index = skipInvisible(text, index + 1, end)
  if (index === end) return partial
  return closesToken(text.charCodeAt(index)) ? { kind: isUsage ? 'usage' : 'cite', ids, end: index + 1 } : noToken
}

const usageLetters = [117, 115, 97, 103, 101]
const citeLetters = [115]

/** The number from `start` to `end`, if there are only digits and the number is at least 1. Most citations have one number. */
function readNumber(text: string, start: number, end: number): number | undefined {
  if (end - start > maxDigits) return undefined
  let number = 0
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return undefined
    number = 10 * number + digit
  }
  return number > 0 ? number : undefined
}

/** The numbers in a list such as `1, 3, 5-7`, in the order of the list and without duplicates. Invalid items are skipped. */
function parseIds(list: string): readonly number[] {
  const ids = new Set<number>()
  for (const item of list.split(',')) {
    const match = /^\s*(\d+)\s*(?:-\s*(\d+)\s*)?$/.exec(item)
    const [first, last] = [match?.[1], match?.[2] ?? match?.[1]]
    if (first === undefined || last === undefined || first.length > maxDigits || last.length > maxDigits) continue
    const low = Math.min(Number(first), Number(last))
    const high = Math.max(Number(first), Number(last))
    if (high - low >= maxRange) continue
    for (let id = Math.max(low, 1); id <= high; id++) ids.add(id)
  }
  return [...ids]
}

/** Removes invisible characters. Replaces other characters that look like a colon, dash or bracket by the ASCII character. */
function normalizeBody(body: string): string {
  return body
    .replace(/[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g, '')
    .replace(/[\u2013\u2014]/g, '-')
    .replace(/[\uff1a\ufe55\ufe30]/g, ':')
    .replace(/\uff3b/g, '[')
    .replace(/\uff3d/g, ']')
}

function skipInvisible(text: string, from: number, end: number): number {
  let index = from
  while (index < end && isInvisible(text.charCodeAt(index))) index++
  return index
}

function skipSpace(text: string, from: number, end: number): number {
  let index = from
  while (index < end && (isSpace(text.charCodeAt(index)) || isInvisible(text.charCodeAt(index)))) index++
  return index
}

const closesToken = (code: number): boolean => code === 93 || code === 0xff3d
const isBracket = (code: number): boolean => opensToken(code) || closesToken(code)
const isColon = (code: number): boolean => code === 58 || code === 0xff1a || code === 0xfe55 || code === 0xfe30

/** True for characters without a width and for characters that set the direction of writing. */
const isInvisible = (code: number): boolean =>
  code > 0x600 &&
  ((code >= 0x200b && code <= 0x200f) ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x2064) ||
    (code >= 0x2066 && code <= 0x2069) ||
    code === 0xfeff ||
    code === 0x061c ||
    code === 0x180e)

const isSpace = (code: number): boolean =>
  code === 32 ||
  (code >= 9 && code <= 13) ||
  (code >= 0xa0 &&
    (code === 0xa0 ||
      code === 0x1680 ||
      (code >= 0x2000 && code <= 0x200a) ||
      code === 0x2028 ||
      code === 0x2029 ||
      code === 0x202f ||
      code === 0x205f ||
      code === 0x3000))

/**
 * The result of reading a citation in HTML, such as `<sup class="cite" data-sids="1,3">…</sup>`. The text may end inside the citation. A
 * citation has at most 600 characters.
 */
export type SuperscriptMatch =
  | { readonly kind: 'none' }
  /**
   * The text ends inside a possible citation. If the rest shows that it is not a citation, it is read as ordinary text. Ordinary text may
   * contain a usage tag, therefore `usage` is true.
   */
  | { readonly kind: 'partial'; readonly cite: true; readonly usage: true }
  | { readonly kind: 'superscript'; readonly ids: readonly number[]; readonly end: number }

const maxSuperscriptLength = 600
const noSuperscript: SuperscriptMatch = { kind: 'none' }
const partialSuperscript: SuperscriptMatch = { kind: 'partial', cite: true, usage: true }

const openTag = /<sup(?:\s[^<>]*)?>/iy
const partialOpenTag = /<(?:s(?:u(?:p(?:\s[^<>]*)?)?)?)?$/iy
/** Finds the end of a superscript. Superscripts are not nested, so a second `<sup` shows that the first one is not a citation. */
const boundary = /<\/sup\s{0,8}>|<sup[\s>]/gi
const innerToken = /\[\[?\s*s\s*:([^[\]]+)\]/gi

/** Reads the superscript that may start with the `<` at `at`. */
export function readSuperscript(text: string, at: number): SuperscriptMatch {
  const tag = matchAt(openTag, text, at)
  if (tag === undefined)
    return text.length - at < maxSuperscriptLength && matchAt(partialOpenTag, text, at) !== undefined ? partialSuperscript : noSuperscript
  if (!(attribute(tag, 'class') ?? '').toLowerCase().split(/\s+/).includes('cite')) return noSuperscript
  const bodyStart = at + tag.length
  boundary.lastIndex = bodyStart
  const close = boundary.exec(text)
  if (close === null) return text.length - at < maxSuperscriptLength ? partialSuperscript : noSuperscript
  const end = close.index + close[0].length
  if (!close[0].startsWith('</') || end - at > maxSuperscriptLength) return noSuperscript
  const listed = parseIds(normalizeBody(attribute(tag, 'data-sids') ?? ''))
  const ids = listed.length > 0 ? listed : parseIds(innerIds(text.slice(bodyStart, close.index)))
  return ids.length > 0 ? { kind: 'superscript', ids, end } : noSuperscript
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'i').exec(tag)
  return match?.[1] ?? match?.[2]
}

const innerIds = (inside: string): string => [...normalizeBody(inside).matchAll(innerToken)].map((match) => match[1]).join(',')
