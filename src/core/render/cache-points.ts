import type { Slice } from './types.ts'

/**
 * The cache points of a prompt. A point is the position of a block in `Slice.shown`, the list of all blocks that the model sees. A mark
 * after this block tells the provider to cache the prompt up to the end of the block. In this picture, r0 to r(n-1) are the rounds:
 *
 *   previous turns │ header  prompt  r0  r1 … │ r(n-4) … r(n-1) │ followup │ sources, announce (never cached)
 *                  ▲ prevTurn                 ▲ preTail         ▲ tail     ▲ userInput
 *
 * `tail` is the end of the last round, so it moves with every round. The provider still finds the prompt that it cached up to
 * an earlier tail, because the earlier prompt is the beginning of the new prompt. The pre-tail point stays a few rounds behind the tail. At
 * the beginning of a turn, it may therefore be in a previous turn. `userInput` is the end of the messages that came after the last round.
 * `react.hide` changes only blocks after the pre-tail point, so the provider loses only these few rounds from its cache.
 */
export interface CachePoints {
  /**
   * The last block of the previous turns. Undefined when `react.hide` has succeeded in the current turn and the pre-tail point is later
   * than this block. The mark at the pre-tail point then covers the previous turns too.
   */
  readonly prevTurn: number | undefined
  /** The end of the round that is `offsetRounds` rounds before the last one. Undefined when there are too few rounds. */
  readonly preTail: number | undefined
  /** The end of the last round. If there are no rounds, it is the last block. Undefined when no block is shown. */
  readonly tail: number | undefined
  /**
   * The end of the user input after the last round: the request of a new turn, or a followup or attachments during a turn. An input may
   * contain many images, each of which is a part. A provider looks for a cached beginning only a limited number of parts before a mark.
   * With a mark at this point, the next call finds the cached beginning, however many parts the input has.
   */
  readonly userInput: number | undefined
  /**
   * The points that get a mark: the last three of the four points above, ascending and without duplicates. In the first round after a long
   * turn, the point at the end of the turn before the long turn replaces the pre-tail point.
   */
  readonly marks: readonly number[]
}

/** Settings that decide where cache points are placed. */
export interface CachePolicy {
  /** With fewer rounds than this, there is no pre-tail point. */
  readonly minRounds: number
  /** How many rounds the pre-tail point is behind the tail. */
  readonly offsetRounds: number
  readonly markUserInput: boolean
}

export const defaultCachePolicy: CachePolicy = { minRounds: 2, offsetRounds: 4, markUserInput: true }

export interface TurnEdits {
  /** Whether `react.hide` has already succeeded in the current turn. */
  readonly hasHidden: boolean
}

/** The cache points for the blocks that the model sees (`slice`). When blocks are only appended, no point moves backwards. */
export function cachePoints(slice: Slice, policy: CachePolicy, turn: TurnEdits = { hasHidden: false }): CachePoints {
  const tail = tailOf(slice)
  const preTail = preTailOf(slice, policy)
  const before = slice.turnStart === undefined || slice.turnStart === 0 ? undefined : slice.turnStart - 1
  const prevTurn = turn.hasHidden && preTail !== undefined && before !== undefined && preTail > before ? undefined : before
  const userInput = policy.markUserInput ? userInputAfter(slice, Math.max(tail ?? -1, before ?? -1)) : undefined
  // At most three points get a mark. If the tail is not after `prevTurn`, the mark at `prevTurn` already covers the tail. In this case, if
  // there is also a later user input, the tail gets no mark, so that another point can have one.
  const usefulTail = userInput !== undefined && tail !== undefined && tail <= (prevTurn ?? -1) ? undefined : tail
  const older = before === undefined ? undefined : endBeforeLongTurn(slice, before)
  return { prevTurn, preTail, tail, userInput, marks: lastDistinct([prevTurn, older ?? preTail, usefulTail, userInput]) }
}

/** The highest number of marks in the timeline part of a prompt. Providers allow four, and the system text uses one. */
export const maxMarks = 3

/**
 * The position of the last block that must not change, because the provider has cached the prompt up to this block. `react.hide` and
 * `react.read` hide and reveal only later blocks. The result is -1 when all blocks may change.
 */
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

/**
 * The position of the last block that must stay together with the block at `position`. The blocks directly after it that have the same path
 * or belong to the same round must stay together with it. A cache point never separates them.
 */
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

/**
 * A provider looks for a cached beginning at most 20 parts before a mark. A round is at least one part, and a turn also has other parts.
 * Therefore a turn with at least this many rounds is treated as long.
 */
const longTurnRounds = 14

/**
 * The last block before the previous turn, if the current turn has no round yet and the previous turn was long. If another model ran the
 * previous turn, the cache for the current model ends before that turn. The provider finds this cached prompt only if a mark is near its
 * end.
 */
function endBeforeLongTurn({ shown, roundEnds }: Slice, before: number): number | undefined {
  const latest = roundEnds.length - longTurnRounds
  if ((roundEnds.at(-1) ?? -1) > before || latest < 0) return undefined
  const turnId = shown[before]?.block.turn_id
  if (shown[roundEnds[latest] as number]?.block.turn_id !== turnId) return undefined
  let position = before
  while (position >= 0 && shown[position]?.block.turn_id === turnId) position--
  return position < 0 ? undefined : position
}

function userInputAfter(slice: Slice, point: number): number | undefined {
  for (let position = slice.shown.length - 1; position > point; position--) {
    const type = slice.shown[position]?.block.type ?? ''
    if (type.startsWith('user.') || type === 'event.external') return withPathGroup(slice, position)
  }
  return undefined
}

const atLeastOne = (rounds: number) => Math.max(1, Math.floor(rounds) || 1)

/**
 * Sorts the positions, removes duplicates and returns the last `maxMarks`. It uses an insertion sort, because the positions are nearly
 * always sorted already.
 */
export function lastDistinct(positions: readonly (number | undefined)[]): readonly number[] {
  const sorted: number[] = []
  for (const position of positions) {
    if (position === undefined || sorted.includes(position)) continue
    sorted.push(position)
    for (let at = sorted.length - 1; at > 0 && (sorted[at - 1] as number) > position; at--) {
      sorted[at] = sorted[at - 1] as number
      sorted[at - 1] = position
    }
  }
  return sorted.slice(-maxMarks)
}
