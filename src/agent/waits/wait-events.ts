import type { BlockOrigin } from '../../core/block/index.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { StoredOutcome, Wait } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { OfferedEvent } from '../../ports/store.ts'
import { interruptsTurn } from '../turn/incoming-events.ts'
import { wakes } from './child-waits.ts'

/*
 * The events that end a wait: the decision of a person about a call, and the late result of a call. The id of each event is fixed for its
 * call. Therefore only the first event has an effect, and later events with the same id have none.
 */

export const decisionId = (callId: string): string => `decide-${callId}`
/** The id of the answer to the question of a tool. A call may ask several questions. */
export const answerId = ({ wait_id }: Pick<Wait, 'wait_id'>): string => `answer-${wait_id}`
export const completionId = (callId: string): string => `complete-${callId}`

/** What a person decided about a call. */
export interface CallDecided {
  readonly approved: boolean
  /** What the person wrote about the decision. The model reads it. */
  readonly note: string
  /** The parameters with which the tool runs, if the person has changed them. */
  readonly params?: JsonObject
  readonly by?: string
  readonly ts: string
}

/** Reads the event of a decision. Undefined when the event is not a decision. */
export function readDecisionEvent(event: OfferedEvent | undefined): CallDecided | undefined {
  if (event?.kind !== 'decision' || !isObject(event.payload) || typeof event.payload.approved !== 'boolean') return undefined
  const { approved, params, by } = event.payload
  return {
    approved,
    note: event.text,
    ...(isObject(params) && { params: params as JsonObject }), // the payload was parsed from JSON
    ...(typeof by === 'string' && { by }),
    ts: event.ts,
  }
}

/** Reads the outcome in the event of a late result. Undefined for other events. */
export function readCompletionEvent(event: InboxEvent | undefined): StoredOutcome | undefined {
  if (event?.kind !== 'completion' || !isObject(event.payload)) return undefined
  const { outcome } = event.payload
  return isObject(outcome) && typeof outcome.ok === 'boolean' ? (outcome as unknown as StoredOutcome) : undefined
}

/** The waits of the open turn, except those whose tool is still running. The turn can not continue before these waits end. */
export const openWaits = ({ openTurn }: Timeline): readonly Wait[] => openTurn?.waits?.filter(({ running }) => !running) ?? []

/** The wait of a call. */
export const waitOf = ({ openTurn }: Timeline, { callId }: Pick<BlockOrigin, 'callId'>): Wait | undefined =>
  openTurn?.waits?.find(({ call_id }) => call_id === callId)

export const isExpired = ({ expires_at }: Wait, at: string): boolean => expires_at !== undefined && expires_at <= at

/** Whether the turn can continue, because something has happened that ends at least one of these waits. */
export function canGoOn({ inbox }: Timeline, waits: readonly Wait[], turnId: string, now: string): boolean {
  if (waits.some((wait) => isExpired(wait, now))) return true
  const calls = new Set(waits.map(replyKey))
  return inbox.some((event) => {
    if (event.kind === 'followup') return waits.every(({ kind }) => kind === 'later')
    if (event.kind === 'decision' && waits.some((wait) => wakes(event, wait))) return true
    if (event.kind === 'decision' || event.kind === 'completion') return calls.has(callOf(event))
    return interruptsTurn(event, turnId)
  })
}

/** The id in the payload of a decision: the id of the call, or the id of the wait. A wait for a larger budget belongs to no call. */
export const replyKey = ({ kind, wait_id, call_id }: Wait): string | undefined => (kind === 'budget' ? wait_id : call_id)

/** The id of the call in the id of a wait. Undefined for the id of a call, and for a wait without a call. */
export const callIdInWaitId = (id: string): string | undefined => /^(?:approve|complete|child)-(.+)$/.exec(id)?.[1]

/** Whether an id is that of a wait for a larger budget. */
export const isBudgetWait = (id: string): boolean => id.startsWith('budget-')

/** The call that an event is about. */
export const callOf = ({ payload }: InboxEvent): string | undefined =>
  isObject(payload) && typeof payload.call_id === 'string' ? payload.call_id : undefined
