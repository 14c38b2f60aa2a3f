import { termsOf, wordsOf } from '../../core/recall/terms.ts'
import { oneLine } from '../../core/render/text.ts'
import type { KnowledgeHit, KnowledgeQuery } from '../../ports/knowledge.ts'
import type { KnowledgeIndex, Match } from './index-file.ts'

/** How many sections are compared before the best are chosen. */
const candidates = 80
/** A search returns at most this many hits of one document, so that a long document does not hide all others. */
const maxHitsPerDocument = 3
const maxSnippet = 280
/** Only this many characters at the beginning of a section are compared with the query. */
const maxCompared = 20_000
const maxTerms = 64

/**
 * The best sections for a query. The full-text index scores them by rare words. A section that contains more of the query's words gets a
 * better score. A keyword has twice the weight of another word. Scores are between 0 and 1.
 */
export function searchIndex(index: KnowledgeIndex, { query, root, maxHits, keywords }: KnowledgeQuery): readonly KnowledgeHit[] {
  const weights = new Map<string, number>()
  for (const term of termsOf(query)) weights.set(term, 1)
  for (const term of keywords.flatMap((keyword) => termsOf(keyword))) weights.set(term, 2)
  const terms = [...weights.keys()].slice(0, maxTerms)
  if (terms.length === 0) return []
  const total = terms.reduce((sum, term) => sum + (weights.get(term) ?? 0), 0)
  const matches = index.search(terms, root, candidates)
  const best = matches[0]?.score || 1
  const scored = matches.map((match) => {
    const found = new Set(
      [match.title, ...match.tags, ...match.headings, match.text.slice(0, maxCompared)].flatMap((text) => termsOf(text)),
    )
    const share = terms.reduce((sum, term) => sum + (found.has(term) ? (weights.get(term) ?? 0) : 0), 0) / total
    return { match, score: (match.score / best) * (0.25 + 0.75 * share) }
  })
  scored.sort((a, b) => b.score - a.score)
  const perDocument = new Map<string, number>()
  const chosen = scored.filter(({ match: { path } }) => {
    const count = (perDocument.get(path) ?? 0) + 1
    perDocument.set(path, count)
    return count <= maxHitsPerDocument
  })
  return chosen.slice(0, maxHits).map(({ match, score }) => hitOf(match, score, new Set(terms)))
}

function hitOf(match: Match, score: number, terms: ReadonlySet<string>): KnowledgeHit {
  const { path, title, anchor, headings, tags, url, isPart } = match
  return {
    path: isPart && anchor !== '' ? `${path}#${anchor}` : path,
    title,
    score: Math.round(score * 1_000) / 1_000,
    summary: snippetOf(match, terms),
    ...(headings.length > 0 && { headings }),
    ...(tags.length > 0 && { tags }),
    ...(url !== undefined && { url }),
  }
}

/** The part of the section with the most words of the query, on one line. */
function snippetOf({ text, summary }: Match, terms: ReadonlySet<string>): string {
  const compared = text.slice(0, maxCompared)
  const words = wordsOf(compared).filter(({ terms: own }) => own.some((term) => terms.has(term)))
  const first = words[0]
  if (first === undefined) return oneLine(summary ?? compared, maxSnippet)
  let best = { at: first.at, count: 0 }
  for (const { at } of words.slice(0, 200)) {
    const inside = words.filter((word) => word.at >= at && word.at < at + maxSnippet - 40)
    const count = new Set(inside.flatMap((word) => word.terms.filter((term) => terms.has(term)))).size
    if (count > best.count) best = { at, count }
  }
  const start = startOfPhrase(compared, best.at)
  return oneLine(compared.slice(start), maxSnippet)
}

/** The position at which the sentence or line around `at` begins. If that is too far away, the position of a word shortly before `at`. */
function startOfPhrase(text: string, at: number): number {
  for (let start = at; start > 0 && at - start < 80; start--) {
    const before = text[start - 1]
    if (before === '\n' || (before === ' ' && '.!?'.includes(text[start - 2] ?? ''))) return start
  }
  const space = text.lastIndexOf(' ', Math.max(0, at - 40))
  return at < 80 ? 0 : space === -1 ? at : Math.max(space + 1, at - 60)
}
