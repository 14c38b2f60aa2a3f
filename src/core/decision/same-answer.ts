import { editDistance } from './edit-distance.ts'

const similarity = 0.9
/** Up to here texts are compared character by character; longer ones by their words, in time linear in their length. */
const maxExactLength = 2_000

/**
 * Does the second answer say the same as the first? A model that is asked again and again with nothing to add repeats
 * itself; then it is believed. Blind to case and white space, forgiving about a tenth of the text.
 */
export function isSameAnswer(first: string, second: string): boolean {
  const a = normalize(first)
  const b = normalize(second)
  if (a === b) return true
  if (Math.min(a.length, b.length) < similarity * Math.max(a.length, b.length)) return false
  return Math.max(a.length, b.length) <= maxExactLength ? sameCharacters(a, b) : sameWords(a, b)
}

/** Of answers that repeat the one before, the last stays. */
export function collapseEquivalent(answers: readonly string[]): readonly string[] {
  return answers.filter((answer, index) => {
    const next = answers[index + 1]
    return next === undefined || !isSameAnswer(answer, next)
  })
}

const normalize = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase()

/** 2 × common characters in order ÷ all characters ≥ 0.9, said with the edits that are left. */
function sameCharacters(a: string, b: string): boolean {
  const edits = Math.floor((1 - similarity) * (a.length + b.length) + 1e-9)
  return editDistance(a, b, edits) !== undefined
}

/** The same measure over words as they come, each as heavy as it is long, wherever they stand. */
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

/** Runs of letters and digits; where a script puts no spaces between words, its characters. */
const wordsOf = (text: string): readonly string[] =>
  text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}]+|\S/gu) ?? []
