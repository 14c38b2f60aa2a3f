import { entityTermsOf } from '../../../../core/recall/entities.ts'
import { type Documents, returnScores, type Scores, takeScores } from './documents.ts'
import { analyseQuestion } from './question.ts'
import { createRanking, type DocumentFilter, highestOf, recencyOf } from './ranking.ts'
import { createScorer, type Scorer, type WeightedTerm } from './score.ts'
import { answered, type Steps } from './steps.ts'
import { type IndexReader, type Owner, type PlacedSnippet, type PostingRow, termKey } from './tables.ts'
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
  skips(snippet: PlacedSnippet): boolean
}

/** A snippet that was found, with its score. */
export interface FoundSnippet {
  readonly snippet: PlacedSnippet
  readonly score: number
}

/** A filter that accepts all documents, including those of removed snippets. */
const EVERY_DOCUMENT: DocumentFilter = { roles: -1, from: 0, to: Number.POSITIVE_INFINITY }
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
export function* searchIndex(tables: IndexReader, owner: Owner, documents: Documents, search: IndexSearch): Steps<readonly FoundSnippet[]> {
  const scores = takeScores(documents)
  try {
    return yield* searchWith(scores, tables, owner, documents, search)
  } finally {
    returnScores(documents, scores)
  }
}

function* searchWith(
  scores: Scores,
  tables: IndexReader,
  owner: Owner,
  documents: Documents,
  search: IndexSearch,
): Steps<readonly FoundSnippet[]> {
  const { asked, added, ...question } = analyseQuestion(search.question, search.now)
  if (asked.length === 0 && search.similar.length === 0) return []
  const finder = createFinder(tables, owner, search)
  const scorer = createScorer(documents, scores, tables.chunk, question.speaker)
  const terms = [...asked, ...added]
  scorer.add(terms, yield* postingsOf(tables, owner, terms))
  const best = highestOf(scorer.snippets, documents, search.filter, HOP_SNIPPETS)
  // also the best snippets of all: if the documents are outdated, the filter may exclude the snippets that it should select
  yield* finder.load([...new Set([...best, ...highestOf(scorer.snippets, documents, EVERY_DOCUMENT, HOP_SNIPPETS)])])
  const names = hopTerms(best, terms, finder, scorer)
  scorer.addUpTo(HOP_UP_TO, names, yield* postingsOf(tables, owner, names))
  const rank = createRanking(scorer, documents, scores, search, question)
  const size = 4 * search.limit + 64
  if (search.similar.length === 0) return yield* cut(rank.bestFirst(size), rank.scoreOf, search, finder, documents)
  const fused = fuseRanks([rank.best(size), search.similar])
  const score = (number: number) => (fused.get(number) ?? 0) * recencyOf(documents.seconds[number] as number, search.now)
  const numbers = [...fused.keys()].sort((a, b) => score(b) - score(a) || b - a)
  return yield* cut(numbers, score, search, finder, documents)
}

function* postingsOf(tables: IndexReader, owner: Owner, terms: readonly WeightedTerm[]): Steps<readonly PostingRow[]> {
  if (terms.length === 0) return []
  const wanted = terms.map(({ term, atMost }) => ({ term: termKey(term), atMost }))
  return yield* answered(tables.postings(owner, wanted))
}

interface Finder {
  /** Reads the snippets with these numbers, unless they were read before. */
  load(numbers: readonly number[]): Steps<void>
  /** A snippet that was read. Undefined if it does not exist, or must not be found. */
  get(number: number): PlacedSnippet | undefined
}

/** Reads each snippet once. */
function createFinder(tables: IndexReader, owner: Owner, { skips }: Pick<IndexSearch, 'skips'>): Finder {
  const known = new Map<number, PlacedSnippet | undefined>()
  return {
    *load(numbers) {
      const missing = numbers.filter((number) => !known.has(number))
      if (missing.length === 0) return
      for (const number of missing) known.set(number, undefined)
      for (const snippet of yield* answered(tables.snippets(owner.key, missing))) if (!skips(snippet)) known.set(snippet.number, snippet)
    },
    get: (number) => known.get(number),
  }
}

/** The names in the best snippets that are not in the question. A name gets more weight if it occurs in several snippets. */
function hopTerms(best: readonly number[], asked: readonly WeightedTerm[], finder: Finder, { snippets }: Scorer): readonly WeightedTerm[] {
  const known = new Set(asked.map(({ term }) => term))
  const weights = new Map<string, number>()
  for (const number of best) {
    for (const term of entityTermsOf(finder.get(number)?.text ?? ''))
      if (!known.has(term)) weights.set(term, (weights.get(term) ?? 0) + (snippets[number] as number))
  }
  const atMost = Math.max(RARE, RARE_SHARE * snippets.length)
  const chosen = [...weights].sort(([, a], [, b]) => b - a).slice(0, HOP_TERMS)
  const most = chosen[0]?.[1] ?? 1
  return chosen.map(([term, weight]) => ({ term, weight: (HOP_WEIGHT * weight) / most, atMost }))
}

/** How many snippets more than the limit are read together, because some of them are left out. */
const READ_MORE = 8

/** The best snippets, one per turn, and not too many of a conversation. */
function* cut(
  numbers: Iterable<number>,
  score: (number: number) => number,
  { limit, perConversation }: IndexSearch,
  finder: Finder,
  { conversation }: Documents,
): Steps<readonly FoundSnippet[]> {
  const turns = new Set<string>()
  const counts = new Map<number, number>()
  const kept: FoundSnippet[] = []
  for (const some of inBatches(numbers, limit + READ_MORE)) {
    yield* finder.load(some.filter((number) => (counts.get(conversation[number] as number) ?? 0) < perConversation))
    for (const number of some) {
      const position = conversation[number] as number
      const count = counts.get(position) ?? 0
      const snippet = count < perConversation ? finder.get(number) : undefined
      const turn = `${position} ${snippet?.turnId}`
      if (!snippet || turns.has(turn)) continue
      turns.add(turn)
      counts.set(position, count + 1)
      kept.push({ snippet, score: score(number) })
      if (kept.length === limit) return kept
    }
  }
  return kept
}

/** Splits a list into batches. Each batch is taken from the list when it is needed. */
export function* inBatches<T>(list: Iterable<T>, size: number): Generator<readonly T[]> {
  let batch: T[] = []
  for (const item of list) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
