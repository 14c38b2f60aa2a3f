import type { TurnResult } from './finish.ts'

/** Who waits for which turn: whoever said something wants the result of the turn that took it in. */
export interface Answers {
  to(eventId: string): Promise<TurnResult>
  /** The events are part of this turn now. */
  taken(eventIds: readonly string[], by: Promise<TurnResult>): void
  /** Nobody will take in the rest: they are given the last word there was. */
  over(last: Promise<TurnResult>): void
}

export function createAnswers(): Answers {
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
    to: (eventId) => promiseFor(eventId).promise,
    taken(eventIds, by) {
      for (const eventId of eventIds) promiseFor(eventId).resolve(by)
    },
    over(result) {
      last = result
      for (const promise of promised.values()) promise.resolve(result)
    },
  }
}
