import type { TurnResult } from './turn/finish.ts'

/** Who waits for which turn: whoever said something wants the result of the turn that took it in. */
export interface ResultsByEvent {
  of(eventId: string): Promise<TurnResult>
  /** The events are part of this turn now. */
  assign(eventIds: readonly string[], by: Promise<TurnResult>): void
  /** Nobody will take in the rest: they are given the last word there was. */
  settleRest(last: Promise<TurnResult>): void
}

export function createResultsByEvent(): ResultsByEvent {
  const promised = new Map<string, PromiseWithResolvers<TurnResult>>()
  let last: Promise<TurnResult> | undefined

  function promiseFor(eventId: string): PromiseWithResolvers<TurnResult> {
    const promise = promised.get(eventId) ?? Promise.withResolvers<TurnResult>()
    promise.promise.catch(() => {}) // whoever wants to know awaits it; nobody has to
    promised.set(eventId, promise)
    if (last) promise.resolve(last)
    return promise
  }

  return {
    of: (eventId) => promiseFor(eventId).promise,
    assign(eventIds, by) {
      for (const eventId of eventIds) promiseFor(eventId).resolve(by)
    },
    settleRest(result) {
      last = result
      for (const promise of promised.values()) promise.resolve(result)
    },
  }
}
