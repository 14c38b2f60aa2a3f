import type { TurnResult } from '../turn/result.ts'

/** The results that the senders of inbox events wait for. The result of an event is the result of the turn that has read it. */
export interface ResultsByEvent {
  of(eventId: string): Promise<TurnResult>
  /** Called when a turn has read events. `result` is the result of this turn. */
  assign(eventIds: readonly string[], result: Promise<TurnResult>): void
  /** Called when the conversation ends. Events that no turn has read get the result of the last turn. */
  settleRest(last: Promise<TurnResult>): void
}

export function createResultsByEvent(): ResultsByEvent {
  const pending = new Map<string, PromiseWithResolvers<TurnResult>>()
  let last: Promise<TurnResult> | undefined

  function resultOf(eventId: string): PromiseWithResolvers<TurnResult> {
    const result = pending.get(eventId) ?? Promise.withResolvers<TurnResult>()
    result.promise.catch(() => {}) // without a handler, a rejection that no caller awaits would end the process
    pending.set(eventId, result)
    if (last) result.resolve(last)
    return result
  }

  return {
    of: (eventId) => resultOf(eventId).promise,
    assign(eventIds, result) {
      for (const eventId of eventIds) resultOf(eventId).resolve(result)
    },
    settleRest(result) {
      last = result
      for (const { resolve } of pending.values()) resolve(result)
    },
  }
}
