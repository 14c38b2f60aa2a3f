import type { Passage } from './passages.ts'
import { contentWords, isName, isNumber, type Word } from './words.ts'

/** A passage, with a score that says how well it answers a question. */
export interface RankedPassage<P extends Passage = Passage> {
  readonly passage: P
  readonly score: number
  /**
   * How much of the question the passage contains, from 0 to 1: the sum of the weights of the words that it contains, divided by the sum of
   * all weights.
   */
  readonly covers: number
}

/** The constants k1 and b of the ranking function BM25, and the weight of a word that occurs only in a heading. */
const [saturation, lengthWeight, headingWeight] = [1.2, 0.6, 0.55]

/**
 * Sorts passages by how well they answer the question, best first. The score is computed with BM25 and these changes:
 *
 * - the weight of a number or name in the question is doubled
 * - a word in a heading is also treated as a word of the passages below this heading, with a lower weight
 * - the score is higher for passages that contain more of the question's words
 *
 * As usual in BM25, rare words have a higher weight. Passages with equal scores keep their order. Passages that contain no word of the
 * question are left out.
 */
export function rankPassages<P extends Passage>(question: string, passages: readonly P[]): readonly RankedPassage<P>[] {
  const terms = distinctWords(contentWords(question))
  if (terms.length === 0 || passages.length === 0) return []
  const inText = passages.map(({ text }) => countStems(contentWords(text)))
  const inHeadings = passages.map(({ headings }) => countStems(contentWords(headings.join(' '))))
  const averageLength = inText.reduce((sum, { size }) => sum + size, 0) / inText.length || 1
  const weights = terms.map((word) => weightOf(word, inText, inHeadings))
  const totalWeight = weights.reduce((sum, weight) => sum + weight, 0)
  const ranked = passages.map((passage, index): RankedPassage<P> => {
    const [text, headings] = [inText[index] as StemCounts, inHeadings[index] as StemCounts]
    let [score, covered] = [0, 0]
    terms.forEach(({ stem }, position) => {
      const times = (text.count.get(stem) ?? 0) + ((headings.count.get(stem) ?? 0) > 0 ? headingWeight : 0)
      if (times === 0) return
      const weight = weights[position] as number
      covered += weight * Math.min(1, times)
      score += (weight * times * (saturation + 1)) / (times + saturation * (1 - lengthWeight + (lengthWeight * text.size) / averageLength))
    })
    const covers = totalWeight === 0 ? 0 : covered / totalWeight
    return { passage, score: score * (0.5 + covers), covers }
  })
  return ranked.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)
}

interface StemCounts {
  readonly count: ReadonlyMap<string, number>
  readonly size: number
}

function countStems(words: readonly Word[]): StemCounts {
  const count = new Map<string, number>()
  for (const { stem } of words) count.set(stem, (count.get(stem) ?? 0) + 1)
  return { count, size: words.length }
}

function weightOf(word: Word, inText: readonly StemCounts[], inHeadings: readonly StemCounts[]): number {
  const holding = inText.filter(({ count }, index) => count.has(word.stem) || inHeadings[index]?.count.has(word.stem)).length
  const rarity = Math.log(1 + (inText.length - holding + 0.5) / (holding + 0.5))
  if (isNumber(word) || isName(word)) return rarity * 2
  // a word that no passage contains gets a low weight, because the passages may use a synonym
  return holding === 0 ? Math.min(1, rarity) : rarity
}

function distinctWords(words: readonly Word[]): readonly Word[] {
  const [first, ...others] = words // the first word of a question has a capital letter even if it is not a name
  const byStem = new Map(others.map((word) => [word.stem, word]))
  return [...(first && !byStem.has(first.stem) ? [{ ...first, text: first.text.toLowerCase() }] : []), ...byStem.values()]
}

/** The passages with the most frequent words of the whole text. Returns at most `limit` passages, in the order of the text. */
export function centralPassages<P extends Passage>(passages: readonly P[], limit: number): readonly P[] {
  const words = passages.map(({ text }) => contentWords(text))
  const frequency = countStems(words.flat()).count
  const scored = words.map((passageWords, index) => {
    const stems = [...new Set(passageWords.map(({ stem }) => stem))]
    const sum = stems.reduce((total, stem) => total + Math.log(frequency.get(stem) ?? 1), 0)
    return { index, score: passageWords.length < 4 ? 0 : sum / Math.sqrt(passageWords.length + 4) + (index === 0 ? 1 : 0) }
  })
  const chosen = scored.toSorted((a, b) => b.score - a.score || a.index - b.index).slice(0, limit)
  return chosen.sort((a, b) => a.index - b.index).map(({ index }) => passages[index] as P)
}
