import type { Bundle } from './bundle.ts'
import { blocksOfChange, type Change } from './change.ts'
import { toPayload } from './payload.ts'
import type { Timeline } from './timeline.ts'
import { turnLogOf } from './turn-log.ts'

/** The bundle of a journal, without the bytes of its blobs. `timeline` is the result of applying all `changes`. */
export function bundleOfJournal(conversationId: string, changes: readonly Change[], timeline: Timeline): Bundle {
  const payload = toPayload(timeline)
  const turnLogs = [...changesByTurn(changes)].flatMap(([turnId, ofTurn]) => turnLogOf(turnId, ofTurn) ?? [])
  const included = new Set([...payload.blocks, ...turnLogs.flatMap(({ blocks }) => blocks)].map(({ id }) => id))
  const others = changes.flatMap((change) => blocksOfChange(change).filter(({ id }) => !included.has(id)))
  const archive = new Map(others.toReversed().map((block) => [block.id, block])) // if several blocks have the same id, only the first is kept
  return {
    format: 'daybook.bundle',
    version: 1,
    conversation_id: conversationId,
    timeline: payload,
    sources_pool: { sources_pool: timeline.sources.rows, next_sid: timeline.sources.next_sid },
    turn_logs: turnLogs,
    archive: [...archive.values()].reverse(),
    blobs: {},
  }
}

/** For each turn, the changes from which its turn log is computed. The turns are in the order of their first change. */
function changesByTurn(changes: readonly Change[]): ReadonlyMap<string, readonly Change[]> {
  const byTurn = new Map<string, Change[]>()
  for (const change of changes) {
    for (const turnId of turnsLoggedBy(change)) {
      const ofTurn = byTurn.get(turnId)
      if (ofTurn) ofTurn.push(change)
      else byTurn.set(turnId, [change])
    }
  }
  return byTurn
}

/** The turns whose turn logs are computed from this change. */
export function turnsLoggedBy(change: Change): ReadonlySet<string> {
  if (change.type === 'turn.opened' || change.type === 'turn.closed') return new Set([change.turn_id])
  return new Set(change.type === 'blocks.appended' ? change.blocks.map(({ turn_id }) => turn_id) : [])
}
