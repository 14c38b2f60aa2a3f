import { entityTermsOf } from '../../../../core/recall/entities.ts'
import type { Documents } from './documents.ts'
import { analyseQuestion, type Question } from './question.ts'
import { createScorer, type Scorer, type WeightedTerm } from './score.ts'
import { type IndexReader, type Owner, roleIds, type StoredSnippet } from './tables.ts'
import { fuseRanks } from './vectors.ts'

/** Which snippets may be found. */
export interface DocumentFilter {
  /** Only this conversation. */
  readonly conversation?: number
  /** The ids of the accepted roles, as bits: role 2 is the bit 4. */
  readonly roles: number
  /** In seconds since 1970. `to` is exclusive. */
  readonly from: number
  readonly to: number
}

/** What to search for. `skips` returns true for snippets that may not be found. */
export interface IndexSearch {
  readonly question: string
  readonly filter: DocumentFilter
  /** The time of the search, in seconds since 1970. */
  readonly now: number
  readonly limit: number
  readonly perConversation: number
  /** The snippets whose vectors are most similar to that of the question, best first. */
  readonly similar: readonly number[]
  skips(snippet: StoredSnippet): boolean
}

/** A snippet that was found, with its score. */
export interface FoundSnippet {
  readonly snippet: StoredSnippet
  readonly score: number
}

/** Names are taken from this many of the best snippets, and this many of them are looked for. */
const [HOP_SNIPPETS, HOP_TERMS] = [8, 8]
/** How much a term counts that the question does not have. It raises a score at most to a share of the best score. */
const [HOP_WEIGHT, HOP_UP_TO] = [0.5, 0.7]
/** Such a term counts only if it is rare: at most so many snippets have it, or this share of them. Common names lead everywhere. */
const [RARE, RARE_SHARE] = [8, 0.01]
/** A snippet has at least this share of the score of the snippet before it and of the one after it. */
const NEIGHBOUR_SHARE = 0.5
/** How much the score of the whole conversation counts beside the score of the snippet. */
const CONVERSATION_SHARE = 0.8
/** A snippet of this moment counts this much more than an old one. The share halves with every week. */
const RECENCY_SHARE = 0.1
const DAY = 24 * 3_600
/** How much more a snippet counts that the person said whose words the question asks for. */
const ROLE_SHARE = 0.15
/** How much more a snippet counts from the time that the question names, or from the days after it, because people tell what has happened. */
const PERIOD_SHARE = 0.3
const TOLD_LATER = 7 * DAY
/** What the score is multiplied by, for an age in days. */
const recencyByDay = Float32Array.from({ length: 100 }, (_, age) => 1 + RECENCY_SHARE * 0.5 ** (age / 7))

/**
 * Searches in these steps:
 *
 *   1. Score all snippets and conversations with the terms of the question, and with words that mean nearly the same.
 *   2. Take the names in the best snippets, and add these names as weak terms. A question that needs two places often names only one of
 *      them; the other place shares a person, a file or a thing with the first. Texts that match the question well keep their order.
 *   3. Give a share of the score of a snippet to its neighbours, because an answer often has none of the words of its question.
 *   4. Add the score of the conversation, and a little for recent snippets, for snippets of the time that the question names, and for what
 *      the person said whose words it asks for.
 *   5. Join the list with that of the snippets with similar vectors, by rank.
 *   6. Keep one snippet per turn. Only now cut the list.
 */
export function searchIndex(tables: IndexReader, owner: Owner, documents: Documents, search: IndexSearch): readonly FoundSnippet[] {
  const { asked, added, ...question } = analyseQuestion(search.question, search.now)
  if (asked.length === 0 && search.similar.length === 0) return []
  const find = createFinder(tables, owner, search)
  const scorer = createScorer(tables, owner, documents)
  scorer.add([...asked, ...added])
  const best = bestOf(scorer.snippets, documents, search.filter, HOP_SNIPPETS)
  scorer.addUpTo(HOP_UP_TO, hopTerms(best, [...asked, ...added], find, scorer))
  const final = finalScores(scorer, documents, search.now, question)
  const size = 4 * search.limit + 64
  if (search.similar.length === 0)
    return cut(bestFirst(final, documents, search.filter, size), (number) => final[number] as number, search, find, documents)
  const fused = fuseRanks([bestOf(final, documents, search.filter, size), search.similar])
  const score = (number: number) => (fused.get(number) ?? 0) * recencyOf(documents.seconds[number] as number, search.now)
  const numbers = [...fused.keys()].sort((a, b) => score(b) - score(a) || b - a)
  return cut(numbers, score, search, find, documents)
}

type FindSnippet = (number: number) => StoredSnippet | undefined

/** Reads each snippet once. Snippets that may not be found are left out. */
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

/** The names in the best snippets that the question does not have. A name counts more if it stands in several snippets. */
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

/** The score of each snippet, with the shares of its neighbours and of its conversation. */
function finalScores(
  { snippets, conversations }: Scorer,
  documents: Documents,
  now: number,
  { period, speaker }: Pick<Question, 'period' | 'speaker'>,
): Float32Array {
  const { conversation, seconds, next } = documents
  const shared = documents.scores[1]
  const highest = shareWithNeighbours(snippets, documents, speaker === undefined ? 0 : roleIds[speaker])
  const highestConversation = conversations.reduce((most, score) => Math.max(most, score), Number.MIN_VALUE)
  const [perOwn, perConversation] = [
    1 / highest / (1 + CONVERSATION_SHARE),
    CONVERSATION_SHARE / highestConversation / (1 + CONVERSATION_SHARE),
  ]
  const [from, to] = period ? [period.from, period.to + TOLD_LATER] : [0, 0]
  for (let number = 0; number < next; number++) {
    const own = shared[number] as number
    if (own === 0) continue
    const time = seconds[number] as number
    const whole = conversations[conversation[number] as number] as number
    const timing = time >= from && time < to ? 1 + PERIOD_SHARE : 1
    shared[number] = (perOwn * own + perConversation * whole) * timing * recencyOf(time, now)
  }
  return shared
}

/**
 * Writes the score of each snippet, or the share of a neighbour's score if that is more, to the second array of `documents.scores`. Returns
 * the highest score. Only snippets with a score are looked at closely, because most have none.
 */
function shareWithNeighbours(snippets: Float32Array, documents: Documents, asked: number): number {
  const { before, after, role, next } = documents
  const shared = documents.scores[1].fill(0)
  let highest = Number.MIN_VALUE
  for (let number = 0; number < next; number++) {
    const score = snippets[number] as number
    if (score === 0) continue
    const own = role[number] === asked ? score * (1 + ROLE_SHARE) : score
    if (own > (shared[number] as number)) shared[number] = own
    if (own > highest) highest = own
    const [previous, following, share] = [before[number] as number, after[number] as number, NEIGHBOUR_SHARE * score]
    if (previous >= 0 && share > (shared[previous] as number)) shared[previous] = share
    if (following >= 0 && share > (shared[following] as number)) shared[following] = share
  }
  return highest
}

function recencyOf(seconds: number, now: number): number {
  const age = seconds < now ? ((now - seconds) / DAY) | 0 : 0
  return age < recencyByDay.length ? (recencyByDay[age] as number) : 1
}

/** The numbers of the `size` best snippets that the filter accepts, best first. Of equal scores, the newer snippet comes first. */
function bestOf(scores: Float32Array, documents: Documents, filter: DocumentFilter, size: number): readonly number[] {
  const accepts = acceptedBy(documents, filter)
  const order = byScore(scores)
  let best: number[] = []
  let lowest = 0 // a snippet with this score or a lower one is not among the best
  for (let number = scores.length - 1; number >= 0; number--) {
    if ((scores[number] as number) <= lowest || !accepts(number)) continue
    best.push(number)
    if (best.length < 4 * size) continue
    best = best.sort(order).slice(0, size)
    lowest = scores[best[size - 1] as number] as number
  }
  return best.sort(order).slice(0, size)
}

const byScore = (scores: Float32Array) => (a: number, b: number) => (scores[b] as number) - (scores[a] as number) || b - a

/** All accepted numbers, best first. Only the best `size` are sorted, unless the caller takes more. */
function* bestFirst(scores: Float32Array, documents: Documents, filter: DocumentFilter, size: number): Generator<number> {
  const best = bestOf(scores, documents, filter, size)
  yield* best
  if (best.length < size) return
  const taken = new Set(best)
  yield* bestOf(scores, documents, filter, scores.length).filter((number) => !taken.has(number))
}

/** Whether the filter accepts a snippet. A removed snippet has no role. */
export function acceptedBy({ role, conversation, conversations, seconds }: Documents, filter: DocumentFilter): (number: number) => boolean {
  const { roles, from, to } = filter
  const isOne = filter.conversation !== undefined
  const only = conversations.findIndex(({ key }) => key === filter.conversation)
  return (number) => {
    const time = seconds[number] as number
    const isIn = !isOne || conversation[number] === only
    return isIn && (roles & (1 << (role[number] as number))) !== 0 && time >= from && time < to
  }
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
