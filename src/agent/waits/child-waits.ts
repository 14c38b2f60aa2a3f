import { isObject } from '../../core/json.ts'
import { callerKey } from '../../core/scope.ts'
import type { Wait } from '../../core/timeline/change.ts'
import type { ConversationInfo } from '../../ports/store/list.ts'
import type { ConversationStore, OfferedEvent } from '../../ports/store.ts'

/*
 * While a sub-agent waits, the call that has asked it waits, too:
 *
 *   conversation   c1              c1~call_a          c1~call_a~call_b
 *   waits for      child (a)       child (b)          approval
 *
 * Only the agent of `c1` knows the agents of its sub-agents. So when something arrives for `c1~call_a~call_b`, all its callers are woken: each
 * gets an event, and the agent of `c1` resumes its turn. Its call is run again, and continues `c1~call_a`, whose call is run again in turn.
 */

/** Whether the turn of a conversation waits, and nothing has arrived for it. */
export const isParked = ({ openTurn, waits, offers, dueAt }: ConversationInfo, now: string): boolean =>
  openTurn !== null && waits.length > 0 && offers === 0 && (dueAt === null || dueAt > now)

/** The sub-agent for which something has arrived. Undefined when the event does not wake a caller. */
export const wokenChild = ({ kind, payload }: OfferedEvent): string | undefined =>
  kind === 'decision' && isObject(payload) && typeof payload.child_id === 'string' ? payload.child_id : undefined

/** Whether this event ends this wait, because something has arrived for the sub-agent of the wait. */
export const wakes = (event: OfferedEvent, { kind, child_id }: Wait): boolean => kind === 'child' && wokenChild(event) === child_id

/**
 * Wakes the callers of a sub-agent, because something has arrived for it. Returns the conversation at the top. A call that is not waiting
 * yet finds the event when it is about to wait. A second call for the same state of the sub-agent has no effect.
 */
export async function wakeCallers(store: Pick<ConversationStore, 'head' | 'offer'>, child: string, ts: string): Promise<string> {
  const { lastSeq = 0, offers = 0 } = (await store.head(child)) ?? {}
  let top = child
  for (let caller = callerKey(top); caller !== undefined; caller = callerKey(top)) {
    if (((await store.head(caller))?.openTurn ?? null) === null) return top
    await store.offer(caller, wakeEvent(top, `${child.slice(-12)}-${lastSeq}-${offers}`, ts))
    top = caller
  }
  return top
}

const wakeEvent = (child: string, state: string, ts: string): OfferedEvent => ({
  event_id: `child-${state}`,
  kind: 'decision',
  ts,
  text: '',
  payload: { child_id: child },
})

/** Whether the caller of a sub-agent waits for it. */
export async function isAwaited(store: Pick<ConversationStore, 'head'>, child: string): Promise<boolean> {
  const caller = callerKey(child)
  const head = caller === undefined ? undefined : await store.head(caller)
  return head?.waits.some(({ kind, child_id }) => kind === 'child' && child_id === child) === true
}
