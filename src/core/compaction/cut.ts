import type { Block, BlockType } from '../block/block.ts'
import { roundsOf } from '../timeline/timeline.ts'

/**
 * Where a compaction divides the timeline. In this drawing, t1 to t6 are turns, and r1 to r4 are the rounds of the current turn t6:
 *
 *   [summary, preserved …] t1 … t5 │ t6: header prompt r1 r2 ┊ r3 r4
 *                          ▲ start ▲ historyEnd              ▲ cut
 *
 * Earlier turns are summarised as a whole. The current turn is not part of the summary: a checkpoint replaces its blocks before the cut.
 */
export interface Cut {
  /** The position of the first block that the compaction does not replace. */
  readonly cut: number
  /** The position after the last block of the summarised turns. The first block of these turns is at `historyStart`. */
  readonly historyEnd: number
  /**
   * The position of the first block of the current turn. A checkpoint replaces the blocks from this position up to the cut. Undefined when
   * the cut is between two turns.
   */
  readonly prefixStart?: number
}

/**
 * The position of the first block after the latest summary and the blocks preserved with it. Preserved blocks are copies of notes, plans
 * and messages that a compaction puts after its summary.
 */
export function historyStart(blocks: readonly Block[]): number {
  const start = blocks.findIndex((block) => block.type !== 'conv.range.summary' && block.meta?.preserved_by_compaction !== true)
  return start === -1 ? blocks.length : start
}

/** Finds a cut after which about `keep` tokens of blocks remain. Undefined when there are no blocks to compact before such a cut. */
export function findCut(
  blocks: readonly Block[],
  tokensAt: (position: number) => number,
  { keep, currentTurnId }: { readonly keep: number; readonly currentTurnId: string },
): Cut | undefined {
  const start = historyStart(blocks)
  const reached = positionKeeping(blocks.length, start, tokensAt, keep)
  if (reached === undefined) return undefined
  const candidates = cutCandidates(blocks, start)
  // If the timeline ends with one large round, there is no candidate at or after `reached`. In this case everything before this round is
  // compacted.
  const chosen = candidates.find((position) => position >= reached) ?? candidates.at(-1)
  return chosen === undefined ? undefined : resolveCut(blocks, start, backOverSystemBlocks(blocks, chosen), currentTurnId)
}

/** The cut before the last `turns` turns, whatever their size is. Undefined when there are no blocks to compact before these turns. */
export function cutBeforeRecent(blocks: readonly Block[], turns: number, currentTurnId: string): Cut | undefined {
  const start = historyStart(blocks)
  const starts = turnStarts(blocks, start)
  const position = starts[Math.max(0, starts.length - Math.max(1, turns))]
  return position === undefined || position <= start ? undefined : resolveCut(blocks, start, position, currentTurnId)
}

/** The cut at the end of the timeline, after the last round of the current turn. It is needed when this round alone exceeds the limit. */
export function cutAfterAll(blocks: readonly Block[], currentTurnId: string): Cut | undefined {
  const current = turnStartOf(blocks, historyStart(blocks), currentTurnId)
  return current === -1 ? undefined : { cut: blocks.length, historyEnd: current, prefixStart: current }
}

/** The positions at or after `start` at which a turn begins. */
export function turnStarts(blocks: readonly Block[], start: number): readonly number[] {
  return blocks.flatMap((block, position) =>
    position >= start && (position === start || blocks[position - 1]?.turn_id !== block.turn_id) ? [position] : [],
  )
}

/**
 * The last position from which the blocks up to the end have at least `keep` tokens. Undefined when all blocks together have fewer than
 * `keep` tokens.
 */
function positionKeeping(size: number, start: number, tokensAt: (position: number) => number, keep: number): number | undefined {
  let sum = 0
  for (let position = size - 1; position >= start; position--) {
    sum += tokensAt(position)
    if (sum >= keep) return position
  }
  return undefined
}

const messageTypes: ReadonlySet<BlockType> = new Set(['user.prompt', 'assistant.completion', 'react.tool.call', 'turn.header'])
const runtimeAuthors: ReadonlySet<string> = new Set(['system', 'tool'])

function canStartSuffix({ type, author }: Block): boolean {
  if (type === 'react.tool.result' || type === 'conv.range.summary') return false
  return messageTypes.has(type) || !runtimeAuthors.has(author)
}

/** The positions at which a cut is possible. No position inside a round is among them, so that a call and its results stay together. */
function cutCandidates(blocks: readonly Block[], start: number): readonly number[] {
  const ends = new Map(roundsOf(blocks).map(({ start, end }) => [start, end]))
  const candidates: number[] = []
  let open = -1
  blocks.forEach((block, position) => {
    if (position >= start && position > open && canStartSuffix(block)) candidates.push(position)
    open = Math.max(open, ends.get(position) ?? -1)
  })
  return candidates
}

/**
 * Moves a cut back over blocks of the runtime, such as system messages, that are directly before it in the same turn. These blocks belong
 * to the block after the cut. The cut is not moved back over the result of a tool.
 */
function backOverSystemBlocks(blocks: readonly Block[], position: number): number {
  const turnId = blocks[position]?.turn_id
  let cut = position
  while (cut > 0) {
    const before = blocks[cut - 1] as Block
    if (before.turn_id !== turnId || before.type === 'react.tool.result' || before.type === 'conv.range.summary' || canStartSuffix(before))
      break
    cut--
  }
  return cut
}

/**
 * A cut inside an earlier turn is moved to the end of this turn. A cut inside the current turn stays where it is, and a checkpoint replaces
 * the blocks before it.
 */
function resolveCut(blocks: readonly Block[], start: number, position: number, currentTurnId: string): Cut | undefined {
  const current = turnStartOf(blocks, start, currentTurnId)
  if (current !== -1 && position > current) return { cut: position, historyEnd: current, prefixStart: current }
  const starts = turnStarts(blocks, start)
  const cut = starts.find((turnStart) => turnStart >= position)
  return cut === undefined || cut <= start ? undefined : { cut, historyEnd: cut }
}

const turnStartOf = (blocks: readonly Block[], start: number, turnId: string) =>
  blocks.findIndex((block, position) => position >= start && block.turn_id === turnId)
