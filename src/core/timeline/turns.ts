import type { Block } from '../block/block.ts'
import { type Draft, turnHeader } from '../block/index.ts'
import { blockIndex } from './spine.ts'
import { blockAt, type Timeline } from './timeline.ts'

/** In order of first occurrence. */
export function turnIdsOf(blocks: readonly Block[]): readonly string[] {
  return [...new Set(blocks.map(({ turn_id }) => turn_id))]
}

/** Turns that this conversation knows, whether visible or covered by a summary. A physical path may begin with any of them. */
export function knownTurns(timeline: Timeline): ReadonlySet<string> {
  const visible = [...blockIndex(timeline.buffer).byTurn].filter(([, positions]) => (positions[0] as number) < timeline.size)
  return new Set([...summarisedTurns(timeline), ...visible.map(([turnId]) => turnId)])
}

/** What the latest summary stands for, oldest first. */
export function summarisedTurns(timeline: Timeline): readonly string[] {
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (block?.type === 'conv.range.summary') {
      const covered = block.meta?.covered_turn_ids
      return Array.isArray(covered) ? covered.filter((id): id is string => typeof id === 'string') : []
    }
  }
  return []
}

/** The header that opens a turn, unless the timeline already ends with it. */
export function missingTurnHeader(timeline: Timeline, turnId: string, ts: string): readonly Draft<'turn.header'>[] {
  const last = blockAt(timeline, timeline.size - 1)
  return last?.type === 'turn.header' && last.turn_id === turnId ? [] : [turnHeader(turnId, ts)]
}
