import type { Change } from '../../core/timeline/change.ts'
import type { TurnResult } from '../turn/finish.ts'
import type { TurnInput } from '../turn/start.ts'
import type { Inbox, NewEvent } from './inbox.ts'

/** The conversations that run in this process, at most one runner for each: a second message goes to the inbox of the first. */
export interface RunningConversations {
  /** Gives the event to the running conversation. Undefined when it is not running, or did not accept the event. */
  deliver(conversationId: string, event: NewEvent): Promise<RunningConversation | undefined>
  /** Gives the event to the running conversation; when it is not running, starts it for `reason` instead, and no event is made. */
  deliverOrStart(conversationId: string, createEvent: () => NewEvent, reason: StartReason): Promise<DeliveryResult>
  /** Undefined when it is running already, or when there is nothing to do. */
  start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined>
  find(conversationId: string): Promise<RunningConversation | undefined>
  readonly active: Iterable<Promise<RunningConversation | undefined>>
  readonly conversationIds: Iterable<string>
  readonly size: number
}

/** A conversation with work to do: one claim, one turn at a time, and an inbox that stays open across turns. */
export interface RunningConversation {
  readonly firstTurnId: string
  readonly inbox: Inbox
  readonly results: ResultsByEvent
  /** Resolves when what it was started for is in the journal, and can no longer be lost. */
  readonly journaled: Promise<void>
  /** Commits a change that belongs to the conversation, not to a turn. */
  commit(change: Change): Promise<void>
  /** The result of what it was started for; undefined when that needed no turn. */
  readonly firstResult: Promise<TurnResult | undefined>
  /** Resolves when the first turn, and every turn started by a waiting followup, has ended. */
  readonly finished: Promise<void>
  abort(reason: unknown): void
}

/** Why a conversation is started. */
export type StartReason =
  | { readonly kind: 'message'; readonly input: TurnInput }
  /** To resume an open turn, or to start a turn for a waiting followup. */
  | { readonly kind: 'unfinished' }
  /** To journal an event that waits for the next turn. */
  | { readonly kind: 'event'; readonly event: NewEvent }

export interface DeliveryResult {
  readonly running: RunningConversation | undefined
  /** Set when the event went to the inbox of a conversation that was running before. */
  readonly acceptedEvent?: NewEvent
}

export function createRunningConversations(
  startConversation: (conversationId: string, reason: StartReason) => Promise<RunningConversation | undefined>,
): RunningConversations {
  const active = new Map<string, Promise<RunningConversation | undefined>>()

  function start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined> {
    const starting = startConversation(conversationId, reason)
    active.set(conversationId, starting)
    const remove = () => void active.delete(conversationId)
    starting.then((running) => (running ? running.finished.then(remove, remove) : remove()), remove)
    return starting
  }

  /** Awaits nothing between the lookup and the start, so that two concurrent messages do not both start. */
  async function deliverOrStart(conversationId: string, createEvent: () => NewEvent, reason: StartReason): Promise<DeliveryResult> {
    let event: NewEvent | undefined
    for (;;) {
      const present = active.get(conversationId)
      if (!present) return { running: await start(conversationId, reason) }
      const running = await present.catch(() => undefined) // the caller that started it gets the error
      if (running && !running.inbox.closed) {
        event ??= createEvent()
        if (await running.inbox.accept(event)) return { running, acceptedEvent: event }
      }
      await running?.finished.catch(() => {}) // its inbox is closed: start again when it has finished
    }
  }

  return {
    async deliver(conversationId, event) {
      const running = await active.get(conversationId)?.catch(() => undefined)
      return (await running?.inbox.accept(event)) ? running : undefined
    },
    deliverOrStart,
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

/** For each inbox event, the result of the turn that the event became part of. */
export interface ResultsByEvent {
  of(eventId: string): Promise<TurnResult>
  /** The events became part of the turn that has this result. */
  assign(eventIds: readonly string[], result: Promise<TurnResult>): void
  /** The conversation ends: events that no turn took in get the result of the last turn. */
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
