import type { Block } from '../block/block.ts'
import type { Change, TurnClosed } from './change.ts'

/** `turn.log`: what was entered for one turn, in journal order, without what was inserted later. Exact whatever was compacted since. */
export interface TurnLog {
  readonly turn_id: string
  readonly ts: string | null
  readonly blocks: readonly Block[]
  readonly end_ts: string | null
  readonly sources_used: readonly number[]
  readonly blocks_count: number
  readonly tokens: number | null
}

/** Turns taken over from elsewhere while they were still open: closed here, without an end of their own. */
export const IMPORTED_OPEN = 'imported_open'

/** From the changes that concern the turn, in journal order; others are passed over. Undefined when the turn left no trace. */
export function turnLogOf(turnId: string, changes: Iterable<Change>): TurnLog | undefined {
  const entered: (readonly Block[])[] = []
  let opened: string | undefined
  let closed: TurnClosed | undefined
  for (const change of changes) {
    if (change.type === 'blocks.appended') entered.push(change.blocks.filter((block) => block.turn_id === turnId))
    else if (change.type === 'turn.opened' && change.turn_id === turnId) opened ??= change.ts
    else if (change.type === 'turn.closed' && change.turn_id === turnId) closed = change
  }
  const blocks = entered.flat()
  if (blocks.length === 0 && opened === undefined && closed === undefined) return undefined
  return {
    turn_id: turnId,
    ts: opened ?? blocks[0]?.ts ?? null,
    blocks,
    end_ts: closed && closed.exit_reason !== IMPORTED_OPEN ? closed.ts : null,
    sources_used: closed?.sources_used ?? [],
    blocks_count: blocks.length,
    tokens: closed?.tokens ?? null,
  }
}
