import type { BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import type { Owner } from '../../ports/store.ts'
import type { AgentContext } from '../agent-context.ts'
import type { RunningConversation, StartReason } from './context.ts'
import { eventFor, missingConversation, startConversation } from './conversation.ts'
import type { Inbox, NewEvent } from './inbox.ts'

/** The conversations that are running in this process. A message to a running conversation goes to its inbox. */
export interface RunningConversations {
  /** Gives the event to the inbox of the running conversation. False when the conversation is not running or did not accept the event. */
  deliver(conversationId: string, event: NewEvent): ReturnType<Inbox['accept']>
  /** Gives the message or event to the running conversation. If the conversation is not running, starts it with the message or event. */
  deliverOrStart(conversationId: string, reason: DeliveryReason): Promise<DeliveryResult>
  /**
   * Starts the conversation. Undefined when the conversation is already running, or when there is no turn to run and no event to journal.
   */
  start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined>
  find(conversationId: string): Promise<RunningConversation | undefined>
  /**
   * Stops the conversation if it is running, then runs `work`. Until `work` has ended, the conversation can not be started: messages and
   * events for it are rejected with `conversation.missing`. `work` gets the blobs that the stopped turn has put.
   */
  exclude<T>(conversationId: string, work: (putBlobs: readonly BlobRef[]) => Promise<T>): Promise<T>
  readonly conversationIds: Iterable<string>
  readonly size: number
  /** Resolves when no conversation is running, at the latest after `withinMs` milliseconds. */
  drain(withinMs: number): Promise<void>
  /** Aborts all running conversations. No conversation can be started after this. Resolves when all claims are released. */
  close(): Promise<void>
}

type DeliveryReason = Exclude<StartReason, { readonly kind: 'unfinished' }>

export interface DeliveryResult {
  readonly running: RunningConversation | undefined
  /** Set when the conversation was already running and accepted the event. */
  readonly acceptedEvent?: NewEvent
  /** Set when an event with the same id was accepted before. The new event then has no effect. */
  readonly known?: true
}

/** `agent` returns the context for the conversations that start now. A running conversation keeps the context that it was started with. */
export function createRunningConversations(agent: () => AgentContext, owner: Owner): RunningConversations {
  const active = new Map<string, Promise<RunningConversation | undefined>>()
  const excluded = new Map<string, Promise<void>>()
  let closed = false

  function start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined> {
    const starting = closed ? Promise.reject(agentClosed()) : startConversation(agent(), owner, conversationId, reason)
    active.set(conversationId, starting)
    const remove = () => void active.delete(conversationId)
    starting.then((running) => (running ? running.finished.then(remove, remove) : remove()), remove)
    return starting
  }

  /**
   * The code does not `await` between the lookup of the running conversation and its start. Otherwise two messages that arrive together
   * could both start the conversation.
   */
  async function deliverOrStart(conversationId: string, reason: DeliveryReason): Promise<DeliveryResult> {
    let event: NewEvent | undefined
    for (;;) {
      if (excluded.has(conversationId)) throw missingConversation(conversationId)
      const present = active.get(conversationId)
      if (!present) return { running: await start(conversationId, reason) }
      const running = await present.catch(() => undefined) // the caller that started the conversation gets the error
      if (running && !running.inbox.closed) {
        event ??= eventFor(reason, agent().clock)
        const accepted = await running.inbox.accept(event)
        if (accepted) return { running, acceptedEvent: event, ...(accepted === 'known' && { known: true }) }
      }
      await running?.finished.catch(() => {}) // the inbox is closed: wait for the end of the conversation, then try again
    }
  }

  async function exclude<T>(conversationId: string, work: (putBlobs: readonly BlobRef[]) => Promise<T>): Promise<T> {
    for (let before = excluded.get(conversationId); before; before = excluded.get(conversationId)) await before
    const { promise, resolve } = Promise.withResolvers<void>()
    excluded.set(conversationId, promise)
    try {
      const running = await active.get(conversationId)?.catch(() => undefined)
      running?.abort(new DOMException('The conversation is deleted.', 'AbortError'))
      await running?.finished.catch(() => {}) // the callers of the stopped turn get the error
      return await work(running?.putBlobs ?? [])
    } finally {
      excluded.delete(conversationId)
      resolve()
    }
  }

  return {
    exclude,
    async deliver(conversationId, event) {
      const running = await active.get(conversationId)?.catch(() => undefined)
      return running ? running.inbox.accept(event) : false
    },
    deliverOrStart,
    start: async (conversationId, reason) =>
      active.has(conversationId) || excluded.has(conversationId) ? undefined : start(conversationId, reason),
    find: async (conversationId) => active.get(conversationId)?.catch(() => undefined),
    get conversationIds() {
      return active.keys()
    },
    get size() {
      return active.size
    },
    async drain(withinMs) {
      const { promise: timeUp, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, withinMs)
      const finished = Promise.allSettled([...active.values()].map(async (starting) => (await starting)?.finished))
      await Promise.race([finished, timeUp])
      clearTimeout(timer)
    },
    async close() {
      closed = true
      const reason = new DOMException('The agent is closing.', 'AbortError')
      const started = await Promise.allSettled(active.values())
      const running = started.flatMap((start) => (start.status === 'fulfilled' && start.value ? [start.value] : []))
      for (const conversation of running) conversation.abort(reason)
      await Promise.allSettled(running.map(({ finished }) => finished))
    },
  }
}

const agentClosed = () => new Failure('store.closed', 'this agent is closed')
