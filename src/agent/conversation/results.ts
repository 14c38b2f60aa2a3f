import type { TurnResult } from '../turn/finish.ts'

/** For each inbox event, the result of the turn that the event became part of. */
export interface ResultsByEvent {
  of(eventId: string): Promise<TurnResult>
  /** Called when events have become part of a turn, with the result of that turn. */
  assign(eventIds: readonly string[], result: Promise<TurnResult>): void
  /** Called when the conversation ends. Events that no turn took in get the result of the last turn. */
  settleRest(last: Promise<TurnResult>): void
}

export function createResultsByEvent(): ResultsByEvent {
  const pending = new Map<string, PromiseWithResolvers<TurnResult>>()
  let last: Promise<TurnResult> | undefined

  function resultOf(eventId: string): PromiseWithResolvers<TurnResult> {
    const result = pending.get(eventId) ?? Promise.withResolvers<TurnResult>()
    result.promise.catch(() => {}) // a result that no caller awaits must not be an unhandled rejection
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
