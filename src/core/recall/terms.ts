import { stem } from './stem.ts'

/*
 * Turns texts and questions into the terms that a search compares. The terms of stored texts and of questions must be made by the same
 * code. After a change of this code, a migration must empty the index. The index is then built again from the journal.
 */

/** Words longer than this are cut. They are usually encoded data, which no question repeats. */
const MAX_WORD = 64

/** Matches a word. A word may contain characters without width, such as soft hyphens, but does not begin with one. */
const wordShape = /[\p{L}\p{N}\p{M}_][\p{L}\p{N}\p{M}_\u00ad\u200b-\u200d\u2060\ufeff]*/gu
const withoutWidth = /[\u00ad\u200b-\u200d\u2060\ufeff]/g

/** A word of a text, and its terms in the index. */
export interface Word {
  /** The word as it is written in the text. */
  readonly text: string
  /** The position of the word in the text. */
  readonly at: number
  /** The terms of the word. Empty for a stop word. */
  readonly terms: readonly string[]
}

/** The terms of a text, in its order and with repetitions. Stop words are left out. */
export const termsOf = (text: string): readonly string[] => wordsOf(text).flatMap(({ terms }) => terms)

export function wordsOf(text: string): readonly Word[] {
  return Array.from(text.matchAll(wordShape), ({ 0: word, index }) => ({ text: word, at: index, terms: termsOfWord(word) }))
}

/**
 * - A word becomes its stem, without accents and in lower case.
 * - An identifier such as `parseUserName` or `user_name` becomes several terms: its parts and the whole identifier.
 * - In scripts without spaces between words, every two neighbouring characters are a term.
 */
function termsOfWord(word: string): readonly string[] {
  if (isAscii(word)) return termsOfIdentifier(word.slice(0, MAX_WORD))
  // Names of files often have decomposed accents, and Japanese texts may have half-width letters.
  const visible = word.replace(withoutWidth, '').normalize('NFKC')
  if ([...visible.slice(0, MAX_WORD)].some(hasNoSpaces)) return pairsOf(visible)
  const plain = visible
    .slice(0, MAX_WORD)
    .normalize('NFKD')
    .replace(/[\p{M}\s]+/gu, '')
  if (isAscii(plain)) return termsOfIdentifier(plain)
  return [plain.toLowerCase()]
}

function termsOfIdentifier(word: string): readonly string[] {
  const parts = partsOf(word)
  if (parts.length === 0) return []
  if (parts.length === 1) return termOf(parts[0] as string)
  const whole = parts.join('').toLowerCase()
  return [...(whole.length > 1 ? [whole] : []), ...parts.flatMap(termOf)]
}

function termOf(part: string): readonly string[] {
  const lower = part.toLowerCase()
  if (stopWords.has(lower) || (lower.length === 1 && !isDigit(lower.charCodeAt(0)))) return []
  return [stem(lower)]
}

/** Splits an identifier at underscores, before capitals, and between letters and digits. An all-capital word stays whole. */
function partsOf(word: string): readonly string[] {
  const parts: string[] = []
  let start = 0
  const end = (at: number) => {
    if (at > start) parts.push(word.slice(start, at))
    start = at
  }
  for (let at = 0; at < word.length; at++) {
    const kind = kindOf(word.charCodeAt(at))
    const before = at === 0 ? kind : kindOf(word.charCodeAt(at - 1))
    if (kind === 'other') {
      end(at)
      start = at + 1
    } else if (kind !== before && before !== 'other' && !(before === 'upper' && kind === 'lower')) end(at)
    // `HTTPServer`: the capital before a small letter begins a part
    else if (before === 'upper' && kind === 'lower' && at - 1 > start) end(at - 1)
  }
  end(word.length)
  return parts
}

function kindOf(code: number): 'upper' | 'lower' | 'digit' | 'other' {
  if (code >= 97 && code <= 122) return 'lower'
  if (code >= 65 && code <= 90) return 'upper'
  return isDigit(code) ? 'digit' : 'other'
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return false
  return true
}

/** Whether the character belongs to Chinese, Japanese, Korean, Thai, Lao, Khmer or Burmese. */
function hasNoSpaces(character: string): boolean {
  const code = character.codePointAt(0) as number
  return spacelessRanges.some(([from, to]) => code >= from && code <= to)
}

const spacelessRanges: readonly (readonly [number, number])[] = [
  [0x0e00, 0x0eff],
  [0x1000, 0x109f],
  [0x1100, 0x11ff],
  [0x1780, 0x17ff],
  [0x3040, 0x30ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7af],
  [0xf900, 0xfaff],
  [0x20000, 0x323af],
]

/**
 * The pairs of neighbouring characters. Parts in scripts with spaces, such as `API` in a Chinese sentence, become terms like other words.
 */
function pairsOf(word: string): readonly string[] {
  const terms: string[] = []
  let run: string[] = []
  let other = ''
  const endRun = () => {
    if (run.length === 1) terms.push(run[0] as string)
    for (let at = 1; at < run.length; at++) terms.push(`${run[at - 1]}${run[at]}`)
    run = []
  }
  const endOther = () => {
    if (other !== '') terms.push(...termsOfWord(other))
    other = ''
  }
  for (const character of word) {
    if (hasNoSpaces(character)) {
      endOther()
      run.push(character)
    } else {
      endRun()
      other += character
    }
  }
  endRun()
  endOther()
  return terms
}

const stopWords: ReadonlySet<string> = new Set(
  `a about above after again all also am an and any are aren as at be because been before being below between both but by can cannot could
  couldn did didn do does doesn doing don down during each few for from further had hadn has hasn have haven having he her here hers herself
  him himself his how i if in into is isn it its itself just ll me more most my myself no nor not now of off on once only or other our ours
  ourselves out over own re same shan she should shouldn so some such than that the their theirs them themselves then there these they this
  those through to too under until up ve very was wasn we were weren what when where which while who whom why will with won would wouldn you
  your yours yourself yourselves yes please tell`
    .split(' ')
    .map((word) => word.trim()),
)
