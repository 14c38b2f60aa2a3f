import { entityTermsOf } from '../../../../core/recall/entities.ts'
import { termsOf } from '../../../../core/recall/terms.ts'
import { createOwnerReader, type DocumentFilter, type ScoredDocument, type Scores, scoreDocuments, type WeightedTerm } from './score.ts'
import { type IndexReader, type Owner, roleIds, type StoredSnippet } from './tables.ts'
import { secondsOf } from './write.ts'

/** What to search for. `skips` returns true for snippets that may not be found. */
export interface IndexSearch {
  readonly question: string
  readonly filter: DocumentFilter
  /** The time of the search, in seconds since 1970. */
  readonly now: number
  readonly limit: number
  readonly perConversation: number
  skips(snippet: StoredSnippet): boolean
}

/** A snippet that was found, with its score. */
export interface FoundSnippet {
  readonly snippet: StoredSnippet
  readonly score: number
}

/** A question has at most this many different terms. */
const MAX_TERMS = 32
/** Names are taken from this many of the best snippets, and this many of them are looked for. */
const [HOP_SNIPPETS, HOP_TERMS] = [8, 8]
/** How much a term counts that the question does not have. */
const HOP_WEIGHT = 0.6
/** How much of its score a snippet gives to the snippets before and after it. */
const NEIGHBOUR_SHARE = 0.3
/** How many of the best snippets give a share to their neighbours. */
const SHARING_SNIPPETS = 48
/** How much the score of the whole conversation counts beside the score of the snippet. */
const CONVERSATION_SHARE = 0.5
/** A snippet of this moment counts this much more than an old one. The share halves with every week. */
const RECENCY_SHARE = 0.1
const WEEK = 7 * 24 * 3_600

/**
 * Searches in these steps:
 *
 *   1. Score all snippets and conversations with the terms of the question.
 *   2. Take the names in the best snippets, and score again with these names as weak terms. A question that needs two places often names
 *      only one of them; the other place shares a person, a file or a thing with the first.
 *   3. Give a share of the score of a snippet to its neighbours, because an answer often has none of the words of its question.
 *   4. Add the score of the conversation, and a little for recent snippets.
 *   5. Keep one snippet per turn. Only now cut the list.
 */
export function searchIndex(tables: IndexReader, owner: Owner, search: IndexSearch): readonly FoundSnippet[] {
  const asked: readonly WeightedTerm[] = [...new Set(termsOf(search.question))].slice(0, MAX_TERMS).map((term) => ({ term, weight: 1 }))
  if (asked.length === 0) return []
  const snippets = createSnippetCache(tables, owner, search)
  const reader = createOwnerReader(tables, owner)
  const first = scoreDocuments(reader, asked, search.filter)
  const hop = hopTerms(first, asked, snippets.find)
  const scores = hop.length === 0 ? first : scoreDocuments(reader, [...asked, ...hop], search.filter)
  const shared = withNeighbours(tables, scores.documents, snippets, search)
  return cut(rank(shared, scores, search.now, snippets.find), search)
}

type FindSnippet = (number: number) => StoredSnippet | undefined

/** Reads each snippet once. Snippets that may not be found are left out. */
function createSnippetCache(tables: IndexReader, owner: Owner, search: Pick<IndexSearch, 'skips'>) {
  const known = new Map<number, StoredSnippet | undefined>()
  const allowed = (snippet: StoredSnippet | undefined) => (snippet && search.skips(snippet) ? undefined : snippet)
  return {
    find(number: number): StoredSnippet | undefined {
      if (!known.has(number)) known.set(number, allowed(tables.snippet(owner.key, number)))
      return known.get(number)
    },
    add(snippet: StoredSnippet): void {
      if (!known.has(snippet.number)) known.set(snippet.number, allowed(snippet))
    },
  }
}

/** The names in the best snippets that the question does not have. A name counts more if it is rare and stands in several snippets. */
function hopTerms(scores: Scores, asked: readonly WeightedTerm[], find: FindSnippet): readonly WeightedTerm[] {
  const [top] = scores.documents
  if (!top) return []
  const known = new Set(asked.map(({ term }) => term))
  const weights = new Map<string, number>()
  for (const { number, score } of scores.documents.slice(0, HOP_SNIPPETS)) {
    for (const term of entityTermsOf(find(number)?.text ?? '')) {
      if (!known.has(term)) weights.set(term, (weights.get(term) ?? 0) + score / top.score)
    }
  }
  const best = [...weights].sort(([, a], [, b]) => b - a).slice(0, HOP_TERMS)
  const most = best[0]?.[1] ?? 1
  return best.map(([term, weight]) => ({ term, weight: (HOP_WEIGHT * weight) / most }))
}

/** The documents, with a share of the scores of their neighbours. Neighbours that have no term of the question are added. */
function withNeighbours(
  tables: IndexReader,
  documents: readonly ScoredDocument[],
  snippets: ReturnType<typeof createSnippetCache>,
  { filter }: IndexSearch,
): ReadonlyMap<number, ScoredDocument> {
  const shared = new Map(documents.map((document) => [document.number, document]))
  for (const { number, score } of documents.slice(0, SHARING_SNIPPETS)) {
    const snippet = snippets.find(number)
    if (!snippet) continue
    for (const neighbour of tables.neighbours(snippet)) {
      if ((filter.roles & roleBit(neighbour)) === 0 || !inPeriod(neighbour, filter)) continue
      snippets.add(neighbour)
      const known = shared.get(neighbour.number) ?? { number: neighbour.number, conversation: neighbour.conversation, score: 0 }
      shared.set(neighbour.number, { ...known, score: known.score + NEIGHBOUR_SHARE * score })
    }
  }
  return shared
}

const roleBit = ({ role }: StoredSnippet): number => 1 << roleIds[role]

function inPeriod({ ts }: StoredSnippet, { from, to }: DocumentFilter): boolean {
  const seconds = secondsOf(ts)
  return seconds >= from && seconds < to
}

function rank(
  documents: ReadonlyMap<number, ScoredDocument>,
  { conversations }: Scores,
  now: number,
  find: FindSnippet,
): readonly FoundSnippet[] {
  const highest = Math.max(...[...documents.values()].map(({ score }) => score), Number.MIN_VALUE)
  const highestConversation = Math.max(...conversations.values(), Number.MIN_VALUE)
  return [...documents.values()]
    .flatMap(({ number, conversation, score }): readonly FoundSnippet[] => {
      const snippet = find(number)
      if (!snippet) return []
      const whole = (conversations.get(conversation) ?? 0) / highestConversation
      const age = Math.max(0, now - Date.parse(snippet.ts) / 1_000)
      const recency = 1 + RECENCY_SHARE * 0.5 ** (age / WEEK)
      return [{ snippet, score: ((score / highest + CONVERSATION_SHARE * whole) / (1 + CONVERSATION_SHARE)) * recency }]
    })
    .sort((a, b) => b.score - a.score || b.snippet.number - a.snippet.number)
}

function cut(found: readonly FoundSnippet[], { limit, perConversation }: IndexSearch): readonly FoundSnippet[] {
  const turns = new Set<string>()
  const counts = new Map<number, number>()
  const kept: FoundSnippet[] = []
  for (const each of found) {
    const { conversation, turnId } = each.snippet
    const turn = `${conversation} ${turnId}`
    const count = counts.get(conversation) ?? 0
    if (turns.has(turn) || count >= perConversation) continue
    turns.add(turn)
    counts.set(conversation, count + 1)
    kept.push(each)
    if (kept.length === limit) break
  }
  return kept
}
