import type { Change, TurnResumed, TurnWaiting, Wait } from './change.ts'
import type { OpenTurn } from './timeline.ts'

/** The open turn after it began to wait, or after some of its waits have ended. */
export function afterWait(open: OpenTurn, change: TurnWaiting | TurnResumed): OpenTurn {
  const waits = waitsAfter(open.waits ?? [], change)
  const { waits: _waits, waiting_since: since, ...turn } = open
  const waited = since === undefined ? 0 : Math.max(0, Date.parse(change.ts) - Date.parse(since))
  const isParked = change.type === 'turn.waiting' && change.active === undefined
  return {
    ...turn,
    ...(waits.length > 0 && { waits }),
    ...(isParked ? { waiting_since: since ?? change.ts } : waited > 0 && { waited_ms: (open.waited_ms ?? 0) + waited }),
  }
}

/** The waits after a change. A new wait with the id of an earlier wait replaces that wait. */
export function waitsAfter(before: readonly Wait[], change: TurnWaiting | TurnResumed): readonly Wait[] {
  if (change.type === 'turn.resumed') return before.filter(({ wait_id }) => !change.wait_ids.includes(wait_id))
  const replaced = before.map((wait) => change.waits.findLast(({ wait_id }) => wait_id === wait.wait_id) ?? wait)
  const known = new Set(before.map(({ wait_id }) => wait_id))
  return [...replaced, ...new Map(change.waits.filter(({ wait_id }) => !known.has(wait_id)).map((wait) => [wait.wait_id, wait])).values()]
}

/** The earliest time at which one of these waits expires. Undefined when no wait has such a time. */
export function firstExpiry(waits: readonly Wait[]): string | undefined {
  return waits.flatMap(({ expires_at }) => expires_at ?? []).sort()[0]
}

/** Whether the turn stops running with this change, because it has ended or because it only waits. */
export const pausesTurn = (change: Change): boolean =>
  change.type === 'turn.closed' || (change.type === 'turn.waiting' && change.active === undefined)
