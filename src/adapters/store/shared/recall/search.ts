import { entityTermsOf } from '../../../../core/recall/entities.ts'
import type { Documents } from './documents.ts'
import { analyseQuestion } from './question.ts'
import { createRanking, type DocumentFilter, highestOf, recencyOf } from './ranking.ts'
import { createScorer, type Scorer, type WeightedTerm } from './score.ts'
import type { IndexReader, Owner, StoredSnippet } from './tables.ts'
import { fuseRanks } from './vectors.ts'

/** A search. `skips` returns true for snippets that must not be found. */
export interface IndexSearch {
  readonly question: string
  readonly filter: DocumentFilter
  /** The time of the search, in seconds since 1970. */
  readonly now: number
  readonly limit: number
  readonly perConversation: number
  /** The snippets whose vectors are most similar to the vector of the question, best first. */
  readonly similar: readonly number[]
  skips(snippet: StoredSnippet): boolean
}

/** A snippet that was found, with its score. */
export interface FoundSnippet {
  readonly snippet: StoredSnippet
  readonly score: number
}

/** How many of the best snippets are searched for names (step 2), and how many of these names are used as terms. */
const [HOP_SNIPPETS, HOP_TERMS] = [8, 8]
/** The weight of a name that is not in the question, and the share of the best score up to which such names can raise a score. */
const [HOP_WEIGHT, HOP_UP_TO] = [0.5, 0.7]
/**
 * A name is used only if it is rare: at most this number or this share of the snippets contain it, whichever is more. A common name would
 * match too many texts.
 */
const [RARE, RARE_SHARE] = [8, 0.01]
/**
 * Searches in these steps:
 *
 *   1. Score all snippets and conversations with the terms of the question, and with words that mean nearly the same.
 *   2. Take the names in the best snippets, and add these names as weak terms. If an answer needs two snippets, the question often matches
 *      only one of them. The second snippet mentions the same person, file or thing as the first. Texts that match the question well keep
 *      their order.
 *   3. Give a share of the score of a snippet to its neighbours, because an answer often has none of the words of its question.
 *   4. Add the score of the conversation, and a little for recent snippets, for snippets of the time that the question names, and for
 *      snippets of the person whose words the question asks for.
 *   5. Join this list, by rank, with the list of the snippets that have similar vectors.
 *   6. Keep one snippet per turn. Cut the list only after this.
 */
export function searchIndex(tables: IndexReader, owner: Owner, documents: Documents, search: IndexSearch): readonly FoundSnippet[] {
  const { asked, added, ...question } = analyseQuestion(search.question, search.now)
  if (asked.length === 0 && search.similar.length === 0) return []
  const find = createFinder(tables, owner, search)
  const scorer = createScorer(tables, owner, documents, question.speaker)
  scorer.add([...asked, ...added])
  const best = highestOf(scorer.snippets, documents, search.filter, HOP_SNIPPETS)
  scorer.addUpTo(HOP_UP_TO, hopTerms(best, [...asked, ...added], find, scorer))
  const rank = createRanking(scorer, documents, search, question)
  const size = 4 * search.limit + 64
  if (search.similar.length === 0) return cut(rank.bestFirst(size), rank.scoreOf, search, find, documents)
  const fused = fuseRanks([rank.best(size), search.similar])
  const score = (number: number) => (fused.get(number) ?? 0) * recencyOf(documents.seconds[number] as number, search.now)
  const numbers = [...fused.keys()].sort((a, b) => score(b) - score(a) || b - a)
  return cut(numbers, score, search, find, documents)
}

type FindSnippet = (number: number) => StoredSnippet | undefined

/** Reads each snippet once. Returns undefined for a snippet that must not be found. */
function createFinder(tables: IndexReader, owner: Owner, search: Pick<IndexSearch, 'skips'>): FindSnippet {
  const known = new Map<number, StoredSnippet | undefined>()
  return (number) => {
    if (known.has(number)) return known.get(number)
    const snippet = tables.snippet(owner.key, number)
    const allowed = snippet && search.skips(snippet) ? undefined : snippet
    known.set(number, allowed)
    return allowed
  }
}

/** The names in the best snippets that are not in the question. A name gets more weight if it occurs in several snippets. */
function hopTerms(
  best: readonly number[],
  asked: readonly WeightedTerm[],
  find: FindSnippet,
  { snippets }: Scorer,
): readonly WeightedTerm[] {
  const known = new Set(asked.map(({ term }) => term))
  const weights = new Map<string, number>()
  for (const number of best) {
    for (const term of entityTermsOf(find(number)?.text ?? ''))
      if (!known.has(term)) weights.set(term, (weights.get(term) ?? 0) + (snippets[number] as number))
  }
  const atMost = Math.max(RARE, RARE_SHARE * snippets.length)
  const chosen = [...weights].sort(([, a], [, b]) => b - a).slice(0, HOP_TERMS)
  const most = chosen[0]?.[1] ?? 1
  return chosen.map(([term, weight]) => ({ term, weight: (HOP_WEIGHT * weight) / most, atMost }))
}

/** The best snippets, one per turn, and not too many of a conversation. */
function cut(
  numbers: Iterable<number>,
  score: (number: number) => number,
  { limit, perConversation }: IndexSearch,
  find: FindSnippet,
  { conversation }: Documents,
): readonly FoundSnippet[] {
  const turns = new Set<string>()
  const counts = new Map<number, number>()
  const kept: FoundSnippet[] = []
  for (const number of numbers) {
    const position = conversation[number] as number
    const count = counts.get(position) ?? 0
    const snippet = count < perConversation ? find(number) : undefined
    const turn = `${position} ${snippet?.turnId}`
    if (!snippet || turns.has(turn)) continue
    turns.add(turn)
    counts.set(position, count + 1)
    kept.push({ snippet, score: score(number) })
    if (kept.length === limit) break
  }
  return kept
}
