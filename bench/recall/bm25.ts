import type { RecallSample } from './data.ts'
import type { Ranked } from './quality.ts'

/** Plain BM25. Its terms are the words in lower case. Sessions are ranked by their whole text, and turns by their own text. */
export function plainBm25({ sessions }: RecallSample): (question: string) => Ranked {
  const bySession = rankWith(sessions.map(({ id, turns }) => ({ id, words: wordsOf(turns.map(({ text }) => text).join('\n')) })))
  const byTurn = rankWith(sessions.flatMap(({ turns }) => turns.map(({ id, text }) => ({ id, words: wordsOf(text) }))))
  return (question) => ({ sessions: bySession(question), turns: byTurn(question) })
}

const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')

function rankWith(texts: readonly { readonly id: string; readonly words: readonly string[] }[]): (question: string) => readonly string[] {
  const documents = texts.map(({ id, words }) => ({ id, length: words.length, counts: countsOf(words) }))
  const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length
  const having = countsOf(documents.flatMap(({ counts }) => [...counts.keys()]))
  const rarityOf = (word: string) => Math.log(1 + (documents.length - (having.get(word) ?? 0) + 0.5) / ((having.get(word) ?? 0) + 0.5))
  return (question) => {
    const words = wordsOf(question)
    const scored = documents.map(({ id, length, counts }) => {
      const scores = words.map((word) => {
        const count = counts.get(word) ?? 0
        return (rarityOf(word) * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * length) / average))
      })
      return { id, score: scores.reduce((sum, score) => sum + score, 0) }
    })
    return scored
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .map(({ id }) => id)
  }
}

function countsOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
