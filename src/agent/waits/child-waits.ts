import { isObject } from '../../core/json.ts'
import { callerKey } from '../../core/scope.ts'
import type { Wait } from '../../core/timeline/change.ts'
import type { ConversationInfo } from '../../ports/store/list.ts'
import type { ConversationStore, OfferedEvent } from '../../ports/store.ts'

/*
 * While a sub-agent waits, the call that has asked the sub-agent also waits:
 *
 *   conversation   c1              c1~call_a          c1~call_a~call_b
 *   waits for      child (a)       child (b)          approval
 *
 * Only the agent of `c1` knows the agents of its sub-agents. Therefore, when something arrives for `c1~call_a~call_b`, all its callers are
 * woken: each of them gets an event, and the agent of `c1` resumes the turn of `c1`. The waiting call of `c1` is run again and continues
 * `c1~call_a`. There, the waiting call is also run again and continues `c1~call_a~call_b`.
 */

/** Whether the turn of a conversation waits, and nothing has arrived for it. */
export const isParked = ({ openTurn, waits, offers, dueAt }: ConversationInfo, now: string): boolean =>
  openTurn !== null && waits.length > 0 && offers === 0 && (dueAt === null || dueAt > now)

/** The conversation of the sub-agent for which something has arrived. Undefined for an event that does not wake a caller. */
export const wokenChild = ({ kind, payload }: OfferedEvent): string | undefined =>
  kind === 'decision' && isObject(payload) && typeof payload.child_id === 'string' ? payload.child_id : undefined

/** Whether this event ends this wait, because something has arrived for the sub-agent of the wait. */
export const wakes = (event: OfferedEvent, { kind, child_id }: Wait): boolean => kind === 'child' && wokenChild(event) === child_id

/**
 * Wakes the callers of a sub-agent, because something has arrived for it. Returns the outermost calling conversation. A call that is not
 * waiting yet finds the event when it is about to wait. A second call for the same state of the sub-agent has no effect.
 */
export async function wakeCallers(store: Pick<ConversationStore, 'head' | 'offer'>, child: string, ts: string): Promise<string> {
  const state = await stateOf(store, child)
  let top = child
  for (let caller = callerKey(top); caller !== undefined; caller = callerKey(top)) {
    if (((await store.head(caller))?.openTurn ?? null) === null) return top
    await store.offer(caller, wakeEvent(top, `${child.slice(-12)}-${state}`, ts))
    top = caller
  }
  return top
}

/**
 * A text that changes whenever something has arrived for the sub-agent. It contains the turn, because a deleted sub-agent may be asked
 * again, and then has the same number of entries as before. If the sub-agent does not exist, the state differs each time its caller waits
 * for it.
 */
async function stateOf(store: Pick<ConversationStore, 'head'>, child: string): Promise<string> {
  const head = await store.head(child)
  if (head) return `${head.openTurn ?? ''}-${head.lastSeq}-${head.offers}`
  const caller = await store.head(callerKey(child) ?? child)
  return `deleted-${caller?.lastSeq ?? 0}`
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

/**
 * Yields the sub-agents that were deleted while their callers wait for them. The deletion of a conversation deletes its sub-agents first,
 * so this happens if the process dies before it has deleted the conversation itself. The caller is woken, and its call asks a new
 * sub-agent.
 */
export async function* deletedChildren(store: Pick<ConversationStore, 'head' | 'list'>, now: string): AsyncGenerator<string> {
  let cursor: string | undefined
  do {
    const page = await store.list({ waits: true, limit: 100, ...(cursor !== undefined && { cursor }) })
    for (const head of page.conversations)
      for (const { kind, child_id } of isParked(head, now) ? head.waits : [])
        if (kind === 'child' && child_id !== undefined && !(await store.head(child_id))) yield child_id
    cursor = page.next
  } while (cursor !== undefined)
}
