import type { Slice } from './types.ts'

/**
 * The places in a prompt that get a cache mark: the provider caches the prompt up to there. All points are positions in `slice.shown`,
 * and each lies *after* its block:
 *
 *   previous turns │ header  prompt │ r0  r1 … │ r(n-4) … r(n-1) │ sources, announce
 *                  ▲ previous turn  ▲ user     ▲ pre-tail        ▲ tail      (never cached)
 *
 * The tail moves with every round; the provider finds the entry of an earlier tail because it is a prefix of the new prompt. The
 * pre-tail point trails the tail, so that an edit between them (`react.hide`) invalidates a few rounds and not the conversation.
 * Rounds of previous turns count, too.
 */
export interface CachePoints {
  /** End of the previous turns. Dropped in favour of a later pre-tail point once the current turn has hidden something. */
  readonly prevTurn: number | undefined
  /** Everything up to here is frozen: hiding and revealing act only after it. */
  readonly preTail: number | undefined
  /** End of the last round; without any round, the last block. Undefined only when nothing is shown. */
  readonly tail: number | undefined
  /**
   * End of the input that came after the last round: the request of a new turn, a followup or attachments during a turn. Providers
   * search only a limited number of parts before a mark for a cached prefix, and an input may hold many images. With a mark here the
   * next call finds this prefix, however many parts the input has.
   */
  readonly userInput: number | undefined
  /** The points above, ascending, each once; at most 3. */
  readonly marks: readonly number[]
}

/** Where cache points are placed. */
export interface CachePolicy {
  /** The least number of rounds for which there is a pre-tail point. */
  readonly minRounds: number
  /** How many rounds the pre-tail point trails the tail. */
  readonly offsetRounds: number
  readonly markUserInput: boolean
}

export const defaultCachePolicy: CachePolicy = { minRounds: 2, offsetRounds: 4, markUserInput: true }

/** Whether `react.hide` has already succeeded in the current turn. */
export interface TurnEdits {
  readonly hasHidden: boolean
}

/** The cache points of a slice. Points never move backwards while a turn only grows. */
export function cachePoints(slice: Slice, policy: CachePolicy, turn: TurnEdits = { hasHidden: false }): CachePoints {
  const tail = tailOf(slice)
  const preTail = preTailOf(slice, policy)
  const before = slice.turnStart === undefined || slice.turnStart === 0 ? undefined : slice.turnStart - 1
  const prevTurn = turn.hasHidden && preTail !== undefined && before !== undefined && preTail > before ? undefined : before
  const userInput = policy.markUserInput ? userInputAfter(slice, Math.max(tail ?? -1, before ?? -1)) : undefined
  // With more than three points the earliest is dropped. A tail at or before the previous turn's end is dropped first: the previous
  // turn's mark already covers it.
  const usefulTail = userInput !== undefined && tail !== undefined && tail <= (prevTurn ?? -1) ? undefined : tail
  return { prevTurn, preTail, tail, userInput, marks: lastDistinct(prevTurn, preTail, usefulTail, userInput) }
}

/** Providers allow four marks; the system message has the fourth. */
export const maxMarks = 3

/** The last position that no edit may touch, or -1: blocks at or before it are cached. */
export function frozenUntil({ preTail, prevTurn }: Pick<CachePoints, 'preTail' | 'prevTurn'>): number {
  return Math.max(preTail ?? -1, prevTurn ?? -1)
}

function tailOf(slice: Slice): number | undefined {
  if (slice.shown.length === 0) return undefined
  const count = slice.roundEnds.length
  return count === 0 ? slice.shown.length - 1 : endOf(slice, count - 1)
}

function preTailOf(slice: Slice, policy: CachePolicy): number | undefined {
  const last = slice.roundEnds.length - 1
  const index = Math.max(0, last - atLeastOne(policy.offsetRounds))
  return last + 1 >= atLeastOne(policy.minRounds) && index < last ? endOf(slice, index) : undefined
}

const endOf = (slice: Slice, round: number): number => withPathGroup(slice, slice.roundEnds[round] as number)

/** Moves a position behind the following blocks that have the same path or belong to the same round: a point never separates them. */
function withPathGroup({ shown }: Slice, position: number): number {
  const path = shown[position]?.block.path
  if (path === undefined) return position
  let end = position
  for (let next = shown[end + 1]; next; next = shown[end + 1]) {
    const sameRound = next.round !== undefined && next.round === shown[end]?.round
    if (next.block.path !== path && !sameRound) break
    end++
  }
  return end
}

function userInputAfter(slice: Slice, point: number): number | undefined {
  for (let position = slice.shown.length - 1; position > point; position--) {
    const type = slice.shown[position]?.block.type ?? ''
    if (type.startsWith('user.') || type === 'event.external') return withPathGroup(slice, position)
  }
  return undefined
}

const atLeastOne = (rounds: number) => Math.max(1, Math.floor(rounds) || 1)

/** The last `maxMarks` of a few positions, ascending, each once. They nearly always come in order. */
export function lastDistinct(...positions: readonly (number | undefined)[]): readonly number[] {
  const sorted: number[] = []
  for (const position of positions) {
    if (position === undefined || sorted.includes(position)) continue
    sorted.push(position)
    for (let at = sorted.length - 1; at > 0 && (sorted[at - 1] as number) > position; at--) {
      sorted[at] = sorted[at - 1] as number
      sorted[at - 1] = position
    }
  }
  return sorted.length > maxMarks ? sorted.slice(-maxMarks) : sorted
}
