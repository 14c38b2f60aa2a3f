import type { Documents, Scores } from './documents.ts'
import { POSTING_BYTES, type PostingRow, roleIds, termKey } from './tables.ts'

/** A term to look for, and its weight. */
export interface WeightedTerm {
  readonly term: string
  readonly weight: number
  /** If more snippets than this have the term, the term is left out, because a frequent term says little and takes time. */
  readonly atMost?: number
}

/** The parameters of BM25. */
const [K1, B] = [1.2, 0.5]

/**
 * The weight of the words of answers in the score of a conversation, if the question asks for the words of the user. Answers are long, and
 * have words that the user never said.
 */
const ANSWER_SHARE = 0.5

/** The scores of an owner's snippets and conversations for the terms that were added. */
export interface Scorer {
  /** Adds terms with their postings to the scores. Do not add a term twice. */
  add(terms: readonly WeightedTerm[], postings: readonly PostingRow[]): void
  /** Adds terms that raise a score at most to this share of the best score. Scores above this share do not change. */
  addUpTo(share: number, terms: readonly WeightedTerm[], postings: readonly PostingRow[]): void
  /** The score of each snippet, by its number. */
  readonly snippets: Float32Array
  /**
   * The score of each conversation, by its position in `documents.conversations`. The score is computed over all texts of the conversation
   * together.
   */
  readonly conversations: Float32Array
}

/**
 * Scores with BM25. The scores of all snippets are added up in one array, which takes a few nanoseconds per posting. This is so fast that a
 * search can rank all snippets before it cuts the list. `chunkSize` is how many snippets a chunk has.
 */
export function createScorer(documents: Documents, scores: Scores, chunkSize: number, asksFor: 'user' | 'assistant' | undefined): Scorer {
  const { length, role, conversation, conversations: known } = documents
  const answerShare = asksFor === 'user' ? ANSWER_SHARE : 1
  const snippets = scores[0].fill(0)
  const conversations = new Float32Array(known.length)
  const perLength = (K1 * B * documents.snippets) / Math.max(1, documents.terms)
  const lengths = known.map(({ terms, answered }) => terms - (1 - answerShare) * answered)
  const averageLength = Math.max(1, lengths.reduce((sum, each) => sum + each, 0) / Math.max(1, known.length))
  const counts = new Float32Array(known.length)

  function addTerm(weight: number, lists: readonly PostingRow[]): void {
    const having = lists.reduce((sum, { body }) => sum + body.length / POSTING_BYTES, 0)
    const factor = weight * rarityOf(having, documents.snippets) * (K1 + 1)
    const fixed = K1 * (1 - B)
    counts.fill(0)
    for (const { chunk, body } of lists) {
      const first = chunk * chunkSize
      for (let at = 0; at < body.length; at += POSTING_BYTES) {
        const number = first + (((body[at] as number) << 8) | (body[at + 1] as number))
        const count = body[at + 2] as number
        snippets[number] = (snippets[number] as number) + (factor * count) / (count + fixed + perLength * (length[number] as number))
        const position = conversation[number] as number
        counts[position] = (counts[position] as number) + (role[number] === roleIds.assistant ? answerShare * count : count)
      }
    }
    addToConversations(weight)
  }

  function addToConversations(weight: number): void {
    let having = 0
    for (const count of counts) if (count > 0) having++
    const factor = weight * rarityOf(having, known.length) * (K1 + 1)
    for (let position = 0; position < lengths.length; position++) {
      const count = counts[position] as number
      if (count === 0) continue
      const score = (factor * count) / (count + K1 * (1 - B + (B * (lengths[position] as number)) / averageLength))
      conversations[position] = (conversations[position] as number) + score
    }
  }

  function add(terms: readonly WeightedTerm[], postings: readonly PostingRow[]): void {
    const lists = Map.groupBy(postings, ({ term }) => term)
    for (const { term, weight } of terms) addTerm(weight, lists.get(termKey(term)) ?? [])
  }

  return {
    add,
    addUpTo(share, terms, postings) {
      if (terms.length === 0) return
      const before = scores[1]
      before.set(snippets)
      const conversationsBefore = conversations.slice()
      add(terms, postings)
      limitRise(snippets, before, share)
      limitRise(conversations, conversationsBefore, share)
    },
    snippets,
    conversations,
  }
}

const rarityOf = (having: number, all: number): number => Math.log(1 + (Math.max(0, all - having) + 0.5) / (having + 0.5))

/** Limits the scores that were raised. A raised score may reach at most the given share of the best score in `before`. */
function limitRise(scores: Float32Array, before: Float32Array, share: number): void {
  let best = 0
  for (let at = 0; at < before.length; at++) if ((before[at] as number) > best) best = before[at] as number
  const limit = share * best
  for (let at = 0; at < scores.length; at++) {
    const old = before[at] as number
    if ((scores[at] as number) > limit) scores[at] = old > limit ? old : limit
  }
}
