import type { Passage } from './passages.ts'
import { contentWords, isName, isNumber, type Word } from './words.ts'

export interface RankedPassage<P extends Passage = Passage> {
  readonly passage: P
  readonly score: number
  /** How much of what was asked it speaks of, from 0 to 1. */
  readonly covers: number
}

const [saturation, lengthWeight, headingWeight] = [1.2, 0.6, 0.55]

/**
 * Passages by how well they answer, best first: words that are rare in the documents weigh more, numbers and names that the question
 * has weigh double, and a heading lends its words to what stands below it. Equal passages keep their order.
 */
export function rankPassages<P extends Passage>(question: string, passages: readonly P[]): readonly RankedPassage<P>[] {
  const asked = distinctWords(contentWords(question))
  if (asked.length === 0 || passages.length === 0) return []
  const own = passages.map(({ text }) => countStems(contentWords(text)))
  const lent = passages.map(({ headings }) => countStems(contentWords(headings.join(' '))))
  const average = own.reduce((sum, { size }) => sum + size, 0) / own.length || 1
  const weights = asked.map((word) => weightOf(word, own, lent))
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  const ranked = passages.map((passage, index): RankedPassage<P> => {
    const [words, heads] = [own[index] as StemCounts, lent[index] as StemCounts]
    let [score, covered] = [0, 0]
    asked.forEach(({ stem }, position) => {
      const times = (words.count.get(stem) ?? 0) + ((heads.count.get(stem) ?? 0) > 0 ? headingWeight : 0)
      if (times === 0) return
      const weight = weights[position] as number
      covered += weight * Math.min(1, times)
      score += (weight * times * (saturation + 1)) / (times + saturation * (1 - lengthWeight + (lengthWeight * words.size) / average))
    })
    const covers = all === 0 ? 0 : covered / all
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

function weightOf(word: Word, own: readonly StemCounts[], lent: readonly StemCounts[]): number {
  const holding = own.filter(({ count }, index) => count.has(word.stem) || lent[index]?.count.has(word.stem)).length
  const rarity = Math.log(1 + (own.length - holding + 0.5) / (holding + 0.5))
  if (isNumber(word) || isName(word)) return rarity * 2
  return holding === 0 ? Math.min(1, rarity) : rarity // the question may just be worded differently
}

function distinctWords(words: readonly Word[]): readonly Word[] {
  const [first, ...others] = words // a sentence begins with a capital, whatever it says
  const named = new Map(others.map((word) => [word.stem, word]))
  return [...(first && !named.has(first.stem) ? [{ ...first, text: first.text.toLowerCase() }] : []), ...named.values()]
}

/** Passages that a text is about: those with the words it uses most, in the order of the text. */
export function centralPassages<P extends Passage>(passages: readonly P[], most: number): readonly P[] {
  const words = passages.map(({ text }) => contentWords(text))
  const frequency = countStems(words.flat()).count
  const scored = words.map((own, index) => {
    const stems = [...new Set(own.map(({ stem }) => stem))]
    const sum = stems.reduce((total, stem) => total + Math.log(frequency.get(stem) ?? 1), 0)
    return { index, score: own.length < 4 ? 0 : sum / Math.sqrt(own.length + 4) + (index === 0 ? 1 : 0) }
  })
  const chosen = scored.toSorted((a, b) => b.score - a.score || a.index - b.index).slice(0, most)
  return chosen.sort((a, b) => a.index - b.index).map(({ index }) => passages[index] as P)
}
