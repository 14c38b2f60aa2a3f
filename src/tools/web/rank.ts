/** The words of a text in lower case. Scripts that are written without spaces give single characters. */
function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}]+/gu) ?? []
}

/** How much of a page is compared with the query. */
const comparedChars = 5_000

/**
 * The share of the words of a query that a page has, from 0 to 1. A word that is only in the text has a lower weight than a word in the
 * title.
 */
export function relevanceOf(query: string, page: { readonly title: string; readonly text: string }): number {
  const wanted = [...new Set(wordsOf(query))]
  if (wanted.length === 0) return 0
  const title = new Set(wordsOf(page.title))
  const text = new Set(wordsOf(page.text.slice(0, comparedChars)))
  const points = wanted.reduce((sum, word) => sum + (title.has(word) ? 1 : text.has(word) ? 0.8 : 0), 0)
  return points / wanted.length
}

const dayMs = 24 * 3_600_000
const halfLifeDays = 30

/** How new a page is: 1 for a page of today, halved for every 30 days of its age. 0 if the age is not known. */
export function freshnessOf(date: string | undefined, now: string): number {
  const ageDays = (Date.parse(now) - Date.parse(date ?? '')) / dayMs
  return Number.isNaN(ageDays) ? 0 : 2 ** (-Math.max(0, ageDays) / halfLifeDays)
}

/**
 * The rank of a result from 0 to 1. `provider` is the rank of the result in the search services, and `maxProvider` is the highest such rank
 * of all results.
 */
export function weightedRank(parts: {
  readonly relevance: number
  readonly provider: number
  readonly maxProvider: number
  readonly freshness: number
}): number {
  const { relevance, provider, maxProvider, freshness } = parts
  const share = maxProvider > 0 ? provider / maxProvider : 0
  return round(Math.min(1, Math.max(0, 0.6 * relevance + 0.25 * share + 0.15 * freshness)))
}

export const round = (value: number): number => Math.round(value * 10_000) / 10_000
