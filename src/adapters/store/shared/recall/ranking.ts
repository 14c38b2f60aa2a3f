import type { Documents, Scores } from './documents.ts'
import type { Question } from './question.ts'
import type { Scorer } from './score.ts'
import { roleIds } from './tables.ts'

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

/** The score of a snippet is at least this share of the score of the snippet before it, and of the snippet after it. */
const NEIGHBOUR_SHARE = 0.5
/** The weight of the score of the whole conversation, relative to the score of the snippet. */
const CONVERSATION_SHARE = 0.8
/** By how much the score of a snippet from this moment is raised, compared with an old snippet. The share halves with every week. */
const RECENCY_SHARE = 0.1
const DAY = 24 * 3_600
/** By how much the score of a snippet is raised if its author is the person whose words the question asks for. */
const ROLE_SHARE = 0.15
/**
 * By how much the score of a snippet is raised if it is from the time that the question names, or from the `TOLD_LATER` after this time.
 * The days after are included because people often tell later what has happened.
 */
const PERIOD_SHARE = 0.3
const TOLD_LATER = 7 * DAY
/** The factor of a score, by the age of the snippet in days. */
const recencyByDay = Float32Array.from({ length: 100 }, (_, age) => 1 + RECENCY_SHARE * 0.5 ** (age / 7))

export function recencyOf(seconds: number, now: number): number {
  const age = seconds < now ? ((now - seconds) / DAY) | 0 : 0
  return age < recencyByDay.length ? (recencyByDay[age] as number) : 1
}

/** The accepted snippets in the order of their final scores. */
export interface Ranking {
  /** The final score of a snippet. It includes the shares of its neighbours and of its conversation, its time and its role. */
  scoreOf(number: number): number
  /** The numbers of the `size` best snippets, best first. If two scores are equal, the newer snippet comes first. */
  best(size: number): readonly number[]
  /** The numbers of all accepted snippets with a score, best first. Only the best `size` are sorted, unless the caller takes more. */
  bestFirst(size: number): Generator<number>
}

/** Ranks the snippets by the scores of a question. Do not use the scorer afterwards, because its arrays `scores` are reused. */
export function createRanking(
  { snippets, conversations }: Scorer,
  documents: Documents,
  scores: Scores,
  { filter, now }: { readonly filter: DocumentFilter; readonly now: number },
  { period, speaker }: Pick<Question, 'period' | 'speaker'>,
): Ranking {
  const { conversation, seconds } = documents
  const highest = shareWithNeighbours(snippets, scores[1], documents, speaker === undefined ? 0 : roleIds[speaker])
  const [final, shared] = scores
  const accepts = acceptedBy(documents, filter)
  const highestConversation = conversations.reduce((most, score) => Math.max(most, score), Number.MIN_VALUE)
  const perOwn = 1 / highest / (1 + CONVERSATION_SHARE)
  const perConversation = CONVERSATION_SHARE / highestConversation / (1 + CONVERSATION_SHARE)
  const [from, to] = period ? [period.from, period.to + TOLD_LATER] : [0, 0]
  /** The most that a score can be multiplied by. */
  const most = (1 + RECENCY_SHARE) * (period ? 1 + PERIOD_SHARE : 1) * 1.001

  function scoreOf(number: number): number {
    const own = shared[number] as number
    const time = seconds[number] as number
    const whole = conversations[conversation[number] as number] as number
    const timing = time >= from && time < to ? 1 + PERIOD_SHARE : 1
    return Math.fround((perOwn * own + perConversation * whole) * timing * recencyOf(time, now))
  }

  /**
   * Most snippets have a low score. Once `size` scores are known, a snippet has to exceed the lowest of them. Snippets that can not reach
   * it get no final score.
   */
  function best(size: number): readonly number[] {
    const needed = new Float32Array(conversations.length)
    const order = byScore(final)
    let found: number[] = []
    let lowest = 0 // a snippet with this score or a lower one is not among the best
    for (let number = documents.next - 1; number >= 0; number--) {
      if ((shared[number] as number) <= (needed[conversation[number] as number] as number) || !accepts(number)) continue
      const score = scoreOf(number)
      if (score <= lowest) continue
      final[number] = score
      found.push(number)
      if (found.length < 4 * size) continue
      found = found.sort(order).slice(0, size)
      lowest = final[found[size - 1] as number] as number
      for (let at = 0; at < needed.length; at++)
        needed[at] = Math.max(0, (lowest / most - perConversation * (conversations[at] as number)) / perOwn)
    }
    return found.sort(order).slice(0, size)
  }

  function* bestFirst(size: number): Generator<number> {
    const first = best(size)
    yield* first
    if (first.length < size) return
    const taken = new Set(first)
    yield* best(documents.next).filter((number) => !taken.has(number))
  }

  return { scoreOf, best, bestFirst }
}

/**
 * Writes the score of each snippet, or the share of a neighbour's score if that is more, to the array `shared`. Returns the highest score. Snippets without a score are skipped, because most snippets have no score.
 */
function shareWithNeighbours(snippets: Float32Array, shared: Float32Array, documents: Documents, asked: number): number {
  const { before, after, role, next } = documents
  shared.fill(0)
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

/** Of the snippets that the filter accepts, the numbers of the `size` snippets with the highest scores, best first. */
export function highestOf(scores: Float32Array, documents: Documents, filter: DocumentFilter, size: number): readonly number[] {
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

/** Returns a test that tells whether the filter accepts a snippet. A removed snippet has no role, so the test rejects it. */
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
