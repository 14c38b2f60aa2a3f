import type { Slice } from './types.ts'

/**
 * Where the provider may cut its prompt cache. All are positions in `slice.shown`, and each point lies *after* its block:
 *
 *   previous turns │ header  prompt │ r0  r1 … │ r(n-4) … r(n-1) │ sources, announce
 *                  ▲ previous turn  ▲ user     ▲ pre-tail        ▲ tail      (never cached)
 *
 * The tail moves with every round; a later call finds it again as an earlier entry of the same prefix. The pre-tail point trails it,
 * so that an edit in between (`react.hide`) costs a few rounds and not the conversation. Rounds of previous turns count.
 */
export interface CachePoints {
  /** End of what was there before the current turn. Gives way to the pre-tail point once the turn has hidden something. */
  readonly prevTurn: number | undefined
  /** Everything up to here is frozen: hiding and revealing act only after it. */
  readonly preTail: number | undefined
  /** End of the last round; without any round, the last block. Undefined only when nothing is shown. */
  readonly tail: number | undefined
  /**
   * End of what came in after the last round: the request of a new turn, what the user threw into a running one. It is cached before
   * the second call that shows it, and from there the next tail is never too far for a provider's look-back, however many pictures came.
   */
  readonly userInput: number | undefined
  /** The points above, ascending, each once; at most 3. */
  readonly marks: readonly number[]
}

export interface CachePolicy {
  /** Fewer rounds than this have no pre-tail point. */
  readonly minRounds: number
  /** How many rounds the pre-tail point trails the tail. */
  readonly offsetRounds: number
  readonly markUserInput: boolean
}

export const defaultCachePolicy: CachePolicy = { minRounds: 2, offsetRounds: 4, markUserInput: true }

/** What only the turn knows: whether a hide has already succeeded in it. */
export interface TurnEdits {
  readonly hasHidden: boolean
}

export function cachePoints(slice: Slice, policy: CachePolicy, turn: TurnEdits = { hasHidden: false }): CachePoints {
  const tail = tailOf(slice)
  const preTail = preTailOf(slice, policy)
  const before = slice.turnStart === undefined || slice.turnStart === 0 ? undefined : slice.turnStart - 1
  const prevTurn = turn.hasHidden && preTail !== undefined && before !== undefined && preTail > before ? undefined : before
  const userInput = policy.markUserInput ? userInputAfter(slice, Math.max(tail ?? -1, before ?? -1)) : undefined
  // A tail at or before the previous turn's end marks nothing that the latter does not: its slot is the one that is free. Else the
  // earliest point gives way, never the last that is frozen.
  const ofTail = userInput !== undefined && tail !== undefined && tail <= (prevTurn ?? -1) ? undefined : tail
  return { prevTurn, preTail, tail, userInput, marks: sortedDistinct(prevTurn, preTail, ofTail, userInput) }
}

/** A fourth mark is the system message's. */
export const maxMarks = 3

/** The last position that no edit may touch, or -1: what lies at or before it is cached, and stays as it is. */
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

/** A group of blocks at one path is one thing, and so is a round, which is one part: no point falls inside either. */
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

/** The last of them, ascending, each once. They nearly always come in order. */
function sortedDistinct(...positions: readonly (number | undefined)[]): readonly number[] {
  const sorted: number[] = []
  for (const position of positions) {
    if (position === undefined || sorted.includes(position)) continue
    let at = sorted.length
    for (; at > 0 && (sorted[at - 1] as number) > position; at--) sorted[at] = sorted[at - 1] as number
    sorted[at] = position
  }
  return sorted.slice(-maxMarks)
}
