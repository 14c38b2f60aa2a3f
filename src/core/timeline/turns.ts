import type { Block, Draft } from '../block/block.ts'
import { turnHeaderBlock } from '../block/turn.ts'
import { outlineOf } from './block-buffer.ts'
import { blockAt, newestOfKind, type Timeline } from './timeline.ts'

/** The ids of the turns of these blocks, in the order of their first blocks. */
export function turnIdsOf(blocks: readonly Block[]): readonly string[] {
  return [...new Set(blocks.map(({ turn_id }) => turn_id))]
}

/** The ids of all turns of the conversation, visible or summarised. A physical path may begin with any of them. */
export function knownTurns(timeline: Timeline): ReadonlySet<string> {
  const visible = [...outlineOf(timeline.buffer).byTurn].filter(([, ranges]) => (ranges[0]?.from ?? timeline.size) < timeline.size)
  return new Set([...summarisedTurns(timeline), ...visible.map(([turnId]) => turnId)])
}

/** The ids of the turns that the newest summary replaces, oldest first. */
export function summarisedTurns(timeline: Timeline): readonly string[] {
  for (const { meta } of newestOfKind(timeline, 'summary')) {
    const turnIds = meta?.covered_turn_ids
    return Array.isArray(turnIds) ? turnIds.filter((id): id is string => typeof id === 'string') : []
  }
  return []
}

/** The header block that must be appended before other blocks of a turn. Empty when the last block already is this header. */
export function missingTurnHeader(timeline: Timeline, turnId: string, ts: string): readonly Draft<'turn.header'>[] {
  const last = blockAt(timeline, timeline.size - 1)
  return last?.type === 'turn.header' && last.turn_id === turnId ? [] : [turnHeaderBlock(turnId, ts)]
}
