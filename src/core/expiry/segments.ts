import type { Block } from '../block/block.ts'
import { isHidden } from '../block/block.ts'
import { readToolCall } from '../block/tool.ts'
import { turnIdsOf } from '../timeline/turns.ts'
import type { ExpirySettings } from './settings.ts'

/**
 *   t1 t2 │ t3 t4 t5 t6 t7 │ t8
 *   old   │ recent         │ intact       keep_recent_turns 6, keep_recent_intact_turns 1
 */
export type TurnAge = 'old' | 'recent' | 'intact'

/** The current turn is the newest even before it has a block, and always intact. */
export function ageOfTurn(
  blocks: readonly Block[],
  currentTurnId: string,
  settings: Pick<ExpirySettings, 'keepRecentTurns' | 'keepIntactTurns'>,
): (turnId: string) => TurnAge {
  const newestFirst = [...turnIdsOf(blocks).filter((id) => id !== currentTurnId), currentTurnId].reverse()
  const ages = new Map(newestFirst.map((turnId, rank): [string, TurnAge] => [turnId, ageOf(turnId, rank)]))
  return (turnId) => ages.get(turnId) ?? 'intact'

  function ageOf(turnId: string, rank: number): TurnAge {
    if (turnId === currentTurnId || rank < settings.keepIntactTurns) return 'intact'
    return rank < settings.keepRecentTurns ? 'recent' : 'old'
  }
}

const lastingTypes: ReadonlySet<string> = new Set([
  'turn.header',
  'turn.feedback',
  'conv.range.summary',
  'conv.working.summary',
  'react.note',
  'react.note.preserved',
  'react.plan',
  'react.plan.history',
  'react.plan.preserved',
  'user.followup',
  'user.followup.preserved',
  'user.steer',
  'user.steer.preserved',
  'event.external',
  'event.external.preserved',
])

/** What expiry may fold: everything addressable that is not memory itself. What is folded already is left as it is. */
export function mayExpire(block: Block): boolean {
  if (block.path === undefined || isHidden(block) || lastingTypes.has(block.type)) return false
  return readToolCall(block)?.tool_id !== 'react.plan'
}
