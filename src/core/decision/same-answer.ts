import { editDistance } from './edit-distance.ts'

const similarity = 0.9
/** The longest text that is compared by characters. Longer ones are compared by words, in linear time. */
const maxExactLength = 2_000

/**
 * True when the second answer repeats the first: they agree in nine tenths of their text, ignoring case and white space. A model that
 * has nothing to add to its answer repeats it when it is asked again; that ends the turn.
 */
export function isSameAnswer(first: string, second: string): boolean {
  const a = normalize(first)
  const b = normalize(second)
  if (a === b) return true
  if (Math.min(a.length, b.length) < similarity * Math.max(a.length, b.length)) return false
  return Math.max(a.length, b.length) <= maxExactLength ? sameCharacters(a, b) : sameWords(a, b)
}

const normalize = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase()

/** True when 2 × common characters in order ÷ all characters ≥ 0.9, expressed as a limit on edits. */
function sameCharacters(a: string, b: string): boolean {
  const edits = Math.floor((1 - similarity) * (a.length + b.length) + 1e-9)
  return editDistance(a, b, edits) !== undefined
}

/** Applies the same measure to words instead of characters, weighted by length and without regard to their order. */
function sameWords(a: string, b: string): boolean {
  const words = wordsOf(a)
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  let all = words.reduce((sum, word) => sum + word.length, 0)
  let common = 0
  for (const word of wordsOf(b)) {
    all += word.length
    const left = counts.get(word) ?? 0
    if (left === 0) continue
    counts.set(word, left - 1)
    common += 2 * word.length
  }
  return common >= similarity * all
}

/** The words of a text: runs of letters and digits, or single characters in scripts without spaces between words. */
const wordsOf = (text: string): readonly string[] =>
  text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}]+|\S/gu) ?? []
