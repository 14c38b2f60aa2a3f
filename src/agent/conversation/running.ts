import type { TurnResult } from '../turn/finish.ts'
import type { RunningConversation, StartReason } from './conversation.ts'
import type { NewEvent } from './inbox.ts'

/** Which conversations are being worked on here. One turn at a time: whoever comes second is put through to the first. */
export interface RunningConversations {
  /** Hands the event to whoever is at work on the conversation. Undefined when nobody is. */
  deliver(conversationId: string, event: NewEvent): Promise<RunningConversation | undefined>
  /** The same; and when nobody is at work, starts: then no event is made. */
  deliverOrStart(conversationId: string, event: () => NewEvent, start: StartReason): Promise<DeliveryResult>
  /** Undefined when somebody is at work already, or when there is nothing to do. */
  start(conversationId: string, start: StartReason): Promise<RunningConversation | undefined>
  /** Who is at work on it. */
  find(conversationId: string): Promise<RunningConversation | undefined>
  readonly active: Iterable<Promise<RunningConversation | undefined>>
  /** The conversations that somebody is at work on. */
  readonly conversationIds: Iterable<string>
  readonly size: number
}

export interface DeliveryResult {
  readonly running: RunningConversation | undefined
  /** The event, when it is in the inbox of work that had begun before. */
  readonly acceptedEvent?: NewEvent
}

export function createRunningConversations(
  begin: (conversationId: string, start: StartReason) => Promise<RunningConversation | undefined>,
): RunningConversations {
  const active = new Map<string, Promise<RunningConversation | undefined>>()

  function start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined> {
    const starting = begin(conversationId, reason)
    active.set(conversationId, starting)
    const gone = () => void active.delete(conversationId)
    starting.then((running) => (running ? running.finished.then(gone, gone) : gone()), gone)
    return starting
  }

  /** Between looking and starting nothing is awaited: two who come at once do not both start. */
  async function putThrough(conversationId: string, make: () => NewEvent, reason: StartReason): Promise<DeliveryResult> {
    let event: NewEvent | undefined
    for (;;) {
      const present = active.get(conversationId)
      if (!present) return { running: await start(conversationId, reason) }
      const running = await present.catch(() => undefined) // whoever started it is told why it failed
      if (running && !running.inbox.closed) {
        event ??= make()
        if (await running.inbox.accept(event)) return { running, acceptedEvent: event }
      }
      await running?.finished.catch(() => {}) // it is coming to rest
    }
  }

  return {
    async deliver(conversationId, event) {
      const running = await active.get(conversationId)?.catch(() => undefined)
      return (await running?.inbox.accept(event)) ? running : undefined
    },
    deliverOrStart: putThrough,
    start: async (conversationId, reason) => (active.has(conversationId) ? undefined : start(conversationId, reason)),
    find: async (conversationId) => active.get(conversationId)?.catch(() => undefined),
    get active() {
      return active.values()
    },
    get conversationIds() {
      return active.keys()
    },
    get size() {
      return active.size
    },
  }
}

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
