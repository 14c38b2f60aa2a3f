import { createHash } from 'node:crypto'
import { type CallDecision, callsOf, type RequestedCall } from '../core/decision/decision.ts'
import { maxCalls } from '../core/stream/deciding-keys.ts'

/**
 * The id of a call in a response. The first call has the id that was made for the response. The ids of the others are derived from it, so
 * that recovery and replay find the same ids.
 */
export const callIdAt = (first: string, index: number): string =>
  index === 0 ? first : createHash('sha256').update(`${first}/${index}`).digest('hex').slice(0, 12)

/** Whether the response with the id `first` can contain the call. */
export const isCallOf = (first: string, callId: string): boolean =>
  Array.from({ length: maxCalls }, (_, index) => index).some((index) => callIdAt(first, index) === callId)

/** The call with this id in the decision of the response with the id `first`. */
export const callWithId = (decision: CallDecision, first: string, callId: string): RequestedCall | undefined =>
  callsOf(decision).find((_, index) => callIdAt(first, index) === callId)
