import type { BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isChildKey } from '../../core/scope.ts'
import type { Owner } from '../../ports/store.ts'
import type { AgentContext } from '../agent-context.ts'
import { isLost, runsElsewhere } from './claim.ts'
import type { RunningConversation, StartReason } from './context.ts'
import { startConversation } from './conversation.ts'
import { createElsewhere } from './elsewhere.ts'
import type { Inbox, NewEvent } from './inbox.ts'
import { type DeliveryReason, eventFor, missingConversation } from './start-reason.ts'

/** The conversations that are running in this process. A message to a running conversation goes to its inbox. */
export interface RunningConversations {
  /**
   * Gives a steer to the running turn, also if another process runs it. False when no turn is running, or the conversation did not accept
   * the event.
   */
  deliver(conversationId: string, event: NewEvent): ReturnType<Inbox['accept']>
  /**
   * Gives the message or event to the running conversation. If the conversation is not running, starts it with the message or event. If
   * another process runs it, offers the message or event to this process.
   */
  deliverOrStart(conversationId: string, reason: DeliveryReason): Promise<DeliveryResult>
  /**
   * Starts the conversation. Undefined when the conversation is already running, or when there is no turn to run and no event to journal.
   */
  start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined>
  /**
   * From now on, starts every conversation for which an event is offered while no process runs it. Returns a function that ends this.
   */
  continueOffered(): () => void
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

export interface DeliveryResult {
  readonly running: RunningConversation | undefined
  /** Set when the conversation was already running and accepted the event. */
  readonly acceptedEvent?: NewEvent
  /** Set when another process runs the conversation, and the event was offered to this process. */
  readonly offered?: OfferedMessage
  /** Set when an event with the same id was accepted before. The new event then has no effect. */
  readonly known?: true
}

/** A message or event that was offered to the process which runs the conversation. */
export interface OfferedMessage {
  readonly event: NewEvent
  /** The `seq` of the last entry, and the open turn, before the event was offered. */
  readonly lastSeq: number
  readonly openTurn: string | null
}

/** `agent` returns the context for the conversations that start now. A running conversation keeps the context that it was started with. */
export function createRunningConversations(agent: () => AgentContext, owner: Owner): RunningConversations {
  const active = new Map<string, Promise<RunningConversation | undefined>>()
  const excluded = new Map<string, Promise<void>>()
  let closed = false
  const { store, clock, onProblem } = agent() // these stay the same as long as the agent lives
  const elsewhere = createElsewhere(agent(), owner, {
    isActive: (conversationId) => active.has(conversationId) || excluded.has(conversationId),
    start: (conversationId) => start(conversationId, { kind: 'unfinished' }),
  })
  let unwatchOffers: (() => void) | undefined
  let continuesOffered = false

  function start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined> {
    const starting = closed ? Promise.reject(agentClosed()) : startWatched(conversationId, reason)
    active.set(conversationId, starting)
    const remove = () => {
      active.delete(conversationId)
      unwatchIfIdle()
    }
    const onFinished = () => {
      remove()
      elsewhere.resumeIfOffered(conversationId)
    }
    starting.then((running) => (running ? running.finished.then(onFinished, onFinished) : remove()), remove)
    return starting
  }

  /** Starts a conversation. Before that, begins to watch for offers, so that no offer is missed. */
  async function startWatched(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined> {
    watchOffers()
    return startConversation(agent(), owner, conversationId, reason)
  }

  function watchOffers(): void {
    unwatchOffers ??= store.watchOffers({ onOffered, onError: (error) => onProblem({ where: 'offers', error }) })
  }

  function unwatchIfIdle(): void {
    if (active.size > 0 || continuesOffered) return
    unwatchOffers?.()
    unwatchOffers = undefined
  }

  function onOffered(conversationId: string): void {
    const starting = active.get(conversationId)
    // a sub-agent is continued by the call that has asked it, and this call was offered an event, too
    if (!starting && continuesOffered && !isChildKey(conversationId) && !excluded.has(conversationId))
      elsewhere.continueIfFree(conversationId)
    starting?.then((running) => running && takeOffers(running)).catch(() => {}) // the caller that started the conversation gets the error
  }

  const takeOffers = (running: RunningConversation) =>
    running.takeOffers().catch((error: unknown) => isLost(error) || onProblem({ where: 'offers', error }))

  /**
   * The code does not `await` between the lookup of the running conversation and its start. Otherwise two messages that arrive together
   * could both start the conversation.
   */
  async function deliverOrStart(conversationId: string, reason: DeliveryReason): Promise<DeliveryResult> {
    let event: NewEvent | undefined
    for (;;) {
      if (excluded.has(conversationId)) throw missingConversation(conversationId)
      const present = active.get(conversationId)
      if (!present) {
        const started = await start(conversationId, reason).catch(unlessElsewhere)
        if (started !== 'elsewhere') return { running: started }
        event ??= eventFor(reason, clock)
        return elsewhere.offer(conversationId, event)
      }
      const running = await present.catch(() => undefined) // the caller that started the conversation gets the error
      if (running && !running.inbox.closed) {
        event ??= eventFor(reason, clock)
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
      for (;;) {
        const running = await active.get(conversationId)?.catch(() => undefined)
        if (running) return running.inbox.accept(event)
        if (excluded.has(conversationId) || closed) return false
        const answer = await elsewhere.steer(conversationId, event)
        if (answer !== 'here') return answer
        if (!active.has(conversationId)) return false // the lease is left over from a conversation that has ended
      }
    },
    deliverOrStart,
    continueOffered() {
      continuesOffered = true
      watchOffers()
      return () => {
        continuesOffered = false
        unwatchIfIdle()
      }
    },
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
      continuesOffered = false
      unwatchIfIdle()
      elsewhere.close()
      const reason = new DOMException('The agent is closing.', 'AbortError')
      const started = await Promise.allSettled(active.values())
      const running = started.flatMap((start) => (start.status === 'fulfilled' && start.value ? [start.value] : []))
      for (const conversation of running) conversation.abort(reason)
      await Promise.allSettled(running.map(({ finished }) => finished))
      agent().onClosed()
    },
  }
}

/** Turns the error for a conversation that another process runs into a value. Throws any other error. */
function unlessElsewhere(error: unknown): 'elsewhere' {
  if (runsElsewhere(error)) return 'elsewhere'
  throw error
}

const agentClosed = () => new Failure('store.closed', 'this agent is closed')
