import { editDistance } from './edit-distance.ts'

const similarity = 0.9
/** Texts up to this length are compared by characters. Longer texts are compared by words, because this takes only linear time. */
const maxExactLength = 2_000

/**
 * True when the two answers share at least 90 % of their text. Case and white space are ignored. When a model is asked again and has
 * nothing to add, it repeats its answer. In this case the caller ends the turn.
 */
export function isSameAnswer(first: string, second: string): boolean {
  const a = normalize(first)
  const b = normalize(second)
  if (a === b) return true
  if (Math.min(a.length, b.length) < similarity * Math.max(a.length, b.length)) return false
  return Math.max(a.length, b.length) <= maxExactLength ? sameCharacters(a, b) : sameWords(a, b)
}

const normalize = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase()

/**
 * True when the texts share 90 % of their characters in the same order. The allowed number of inserted and deleted characters is 10 % of
 * both lengths together.
 */
function sameCharacters(a: string, b: string): boolean {
  const edits = Math.floor((1 - similarity) * (a.length + b.length) + 1e-9)
  return editDistance(a, b, edits) !== undefined
}

/** True when 90 % of all characters belong to words that both texts have. The order of the words does not matter. */
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

/**
 * The words of a text. In scripts without spaces between words, each character is treated as a word. Each punctuation mark is also treated
 * as a word.
 */
const wordsOf = (text: string): readonly string[] =>
  text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}]+|\S/gu) ?? []
