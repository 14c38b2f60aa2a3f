import type { Block } from '../block/block.ts'
import { roundsOf } from '../timeline/turns.ts'

/**
 *   [summary, preserved …] t1 … t5 │ t6: header prompt r1 r2 ┊ r3 r4
 *                          ▲ front ▲ historyEnd              ▲ cut
 *
 * History leaves by whole turns. The current turn never goes behind a summary: what lies before the cut inside it is condensed.
 */
export interface Cut {
  /** Position where the retained suffix begins. */
  readonly cut: number
  /** History is `[front, historyEnd)`; empty when equal to `front`. */
  readonly historyEnd: number
  /** The part of the current turn to condense, `[prefixStart, cut)`; undefined when the cut is between turns. */
  readonly prefixStart?: number
}

/** Where what the last compaction put there ends: the summary and everything it carried along. */
export function historyStart(blocks: readonly Block[]): number {
  const front = blocks.findIndex((block) => block.type !== 'conv.range.summary' && block.meta?.preserved_by_compaction !== true)
  return front === -1 ? blocks.length : front
}

/** Keeps about `keep` tokens at the end. Undefined when nothing could leave. */
export function findCut(
  blocks: readonly Block[],
  tokensAt: (position: number) => number,
  { keep, currentTurnId }: { readonly keep: number; readonly currentTurnId: string },
): Cut | undefined {
  const front = historyStart(blocks)
  const reached = positionKeeping(blocks.length, front, tokensAt, keep)
  if (reached === undefined) return undefined
  const candidates = cutCandidates(blocks, front)
  // Where nothing may be cut after the threshold, one large round ends the timeline: everything before it may still leave.
  const chosen = candidates.find((position) => position >= reached) ?? candidates.at(-1)
  return chosen === undefined ? undefined : resolveCut(blocks, front, backOverSystemBlocks(blocks, chosen), currentTurnId)
}

/** The cut before the last `turns` turns, whatever they hold; undefined when that leaves nothing to compact. */
export function cutBeforeRecent(blocks: readonly Block[], turns: number, currentTurnId: string): Cut | undefined {
  const front = historyStart(blocks)
  const starts = turnStarts(blocks, front)
  const start = starts[Math.max(0, starts.length - Math.max(1, turns))]
  return start === undefined || start <= front ? undefined : resolveCut(blocks, front, start, currentTurnId)
}

/** After everything that the current turn has done, its last round too: for when that round alone is more than fits. */
export function cutAfterAll(blocks: readonly Block[], currentTurnId: string): Cut | undefined {
  const current = turnStartOf(blocks, historyStart(blocks), currentTurnId)
  return current === -1 ? undefined : { cut: blocks.length, historyEnd: current, prefixStart: current }
}

/** Positions where a turn begins, by change of turn. */
export function turnStarts(blocks: readonly Block[], front: number): readonly number[] {
  return blocks.flatMap((block, position) =>
    position >= front && (position === front || blocks[position - 1]?.turn_id !== block.turn_id) ? [position] : [],
  )
}

/** From the end backwards until the tokens reach `keep`. */
function positionKeeping(size: number, front: number, tokensAt: (position: number) => number, keep: number): number | undefined {
  let sum = 0
  for (let position = size - 1; position >= front; position--) {
    sum += tokensAt(position)
    if (sum >= keep) return position
  }
  return undefined
}

const messages: ReadonlySet<string> = new Set(['user.prompt', 'assistant.completion', 'react.tool.call', 'turn.header'])
const silentAuthors: ReadonlySet<string> = new Set(['system', 'tool'])

function canStartSuffix({ type, author }: Block): boolean {
  if (type === 'react.tool.result' || type === 'conv.range.summary') return false
  return messages.has(type) || !silentAuthors.has(author)
}

/** Blocks that a suffix may begin with, outside of any round: a call and its results are never separated. */
function cutCandidates(blocks: readonly Block[], front: number): readonly number[] {
  const ends = new Map(roundsOf(blocks).map(({ start, end }) => [start, end]))
  const candidates: number[] = []
  let open = -1
  blocks.forEach((block, position) => {
    if (position >= front && position > open && canStartSuffix(block)) candidates.push(position)
    open = Math.max(open, ends.get(position) ?? -1)
  })
  return candidates
}

/** What the runtime said just before belongs to what follows, within a turn. */
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

/** An older turn that would be split leaves whole; the current one stays and is condensed up to the cut. */
function resolveCut(blocks: readonly Block[], front: number, position: number, currentTurnId: string): Cut | undefined {
  const current = turnStartOf(blocks, front, currentTurnId)
  if (current !== -1 && position > current) return { cut: position, historyEnd: current, prefixStart: current }
  const starts = turnStarts(blocks, front)
  const cut = starts.find((start) => start >= position)
  return cut === undefined || cut <= front ? undefined : { cut, historyEnd: cut }
}

const turnStartOf = (blocks: readonly Block[], front: number, turnId: string) =>
  blocks.findIndex((block, position) => position >= front && block.turn_id === turnId)
