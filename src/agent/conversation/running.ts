import type { BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isChildKey, tenantOfKey } from '../../core/scope.ts'
import type { Claim, Owner } from '../../ports/store.ts'
import type { AgentContext } from '../agent-context.ts'
import type { Worker } from '../work/worker.ts'
import { isLost, isSuperseded, releaseClaim, runsElsewhere } from './claim.ts'
import type { RunningConversation, StartReason } from './context.ts'
import { startConversation } from './conversation.ts'
import { createElsewhere } from './elsewhere.ts'
import type { Inbox, NewEvent } from './inbox.ts'
import { createKeptTimelines } from './kept-timelines.ts'
import { createCommitTimes } from './ledger.ts'
import { type DeliveryReason, eventFor, missingConversation } from './start-reason.ts'

/** The conversations that are running in this process. A message to a running conversation goes to its inbox. */
export interface RunningConversations {
  /**
   * Gives a steer to the running turn, even if another process runs it. False when no turn is running, or the conversation did not accept
   * the event.
   */
  deliver(conversationId: string, event: NewEvent): ReturnType<Inbox['accept']>
  /**
   * Gives the message or event to the running conversation. If the conversation is not running, starts it with the message or event. If
   * another process runs it, offers the message or event to that process.
   */
  deliverOrStart(conversationId: string, reason: DeliveryReason): Promise<DeliveryResult>
  /**
   * Starts the conversation. Undefined when the conversation is already running, when there is no turn to run and no event to journal, or
   * when only a worker may start the conversation.
   */
  start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined>
  /** Starts a conversation that this process has claimed. Releases the claim if it can not be started. */
  startClaimed(claim: Claim): Promise<RunningConversation | undefined>
  /** Attaches the worker that takes conversations from the work list for this process. The returned function detaches it. */
  attachWorker(worker: AttachedWorker): () => void
  /** How many conversations of each tenant this process runs. Conversations of sub-agents are not counted. */
  byTenant(): ReadonlyMap<string, number>
  find(conversationId: string): Promise<RunningConversation | undefined>
  /**
   * Stops the conversation if it is running, then runs `work`. Until `work` has ended, the conversation can not be started: messages and
   * events for it are rejected with `conversation.missing`. `work` gets the blobs that the stopped turn has put.
   */
  exclude<T>(conversationId: string, work: (putBlobs: readonly BlobRef[]) => Promise<T>): Promise<T>
  readonly conversationIds: Iterable<string>
  /** How many commits have waited for the store for longer than `ms` milliseconds. */
  slowCommits(ms: number): number
  readonly size: number
  /**
   * Resolves when no conversation is running, at the latest after `withinMs` milliseconds. With `handOver`, and if the store has a relay, a
   * running turn stops after its current round and stays open, so that another process continues it.
   */
  drain(withinMs: number, handOver?: boolean): Promise<void>
  /** Aborts all running conversations. No conversation can be started after this. Resolves when all claims are released. */
  close(): Promise<void>
}

type AttachedWorker = Pick<Worker, 'wake' | 'isFull' | 'limitsTenants'>

export interface DeliveryResult {
  readonly running: RunningConversation | undefined
  /** Set when the conversation was already running and accepted the event. */
  readonly acceptedEvent?: NewEvent
  /** Set when another process runs the conversation, and the event was offered to that process. */
  readonly offered?: OfferedMessage
  /** Set when an event with the same id was accepted before. The new event then has no effect. */
  readonly known?: true
}

/** A message or event that was offered to the process which runs the conversation. */
export interface OfferedMessage {
  readonly event: NewEvent
  /** The `seq` of the last entry before the event was offered. */
  readonly lastSeq: number
  /** The turn that was open before the event was offered. Null when no turn was open. */
  readonly openTurn: string | null
}

/**
 * `agent` returns the context for the conversations that start now. A running conversation keeps the context that it was started with. With
 * `acceptOnly`, no conversation is started here: messages and events are offered, and other processes run the conversations.
 */
export function createRunningConversations(agent: () => AgentContext, owner: Owner, { acceptOnly = false } = {}): RunningConversations {
  const active = new Map<string, Promise<RunningConversation | undefined>>()
  const excluded = new Map<string, Promise<void>>()
  let closed = false
  const { store, clock, onProblem, settings } = agent() // not changed when parts of the agent are replaced
  const kept = createKeptTimelines(settings.keptTimelineBytes)
  const commits = createCommitTimes(() => performance.now())
  const shared = { kept, journal: commits.measured(store) }
  const elsewhere = createElsewhere(agent(), owner, {
    isActive: (conversationId) => active.has(conversationId) || excluded.has(conversationId),
    start: (conversationId) => start(conversationId, { kind: 'unfinished' }),
    isLeftToWorkers: () => acceptOnly || worker !== undefined,
  })
  let unwatchOffers: (() => void) | undefined
  let worker: AttachedWorker | undefined

  /** Whether only a worker may start the conversation. The work list has no conversations of sub-agents, so no worker starts these. */
  const isForWorker = (conversationId: string) => acceptOnly || (worker?.limitsTenants === true && !isChildKey(conversationId))

  function start(conversationId: string, reason: StartReason): Promise<RunningConversation | undefined> {
    const starting = closed ? Promise.reject(agentClosed()) : startWatched(conversationId, reason)
    active.set(conversationId, starting)
    const remove = () => {
      active.delete(conversationId)
      unwatchIfIdle()
      worker?.wake()
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
    return startConversation(agent(), owner, conversationId, reason, shared)
  }

  function watchOffers(): void {
    unwatchOffers ??= store.watchOffers({ onOffered, onError: (error) => onProblem({ where: 'offers', error }) })
  }

  function unwatchIfIdle(): void {
    if (active.size > 0 || worker) return
    unwatchOffers?.()
    unwatchOffers = undefined
  }

  function onOffered(conversationId: string): void {
    const starting = active.get(conversationId)
    if (!starting) worker?.wake(conversationId)
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
        const isQueued = isForWorker(conversationId) || worker?.isFull(conversationId) === true
        const started = isQueued ? 'queued' : await start(conversationId, reason).then(unlessLost).catch(offerAfter)
        if (typeof started !== 'string') return { running: started }
        event ??= eventFor(reason, clock)
        return started === 'queued'
          ? elsewhere.queue(conversationId, event, reason.kind === 'message')
          : elsewhere.offer(conversationId, event)
      }
      const running = await present.catch(() => undefined) // the caller that started the conversation gets the error
      if (running && !running.inbox.closed) {
        event ??= eventFor(reason, clock)
        const accepted = await acceptUnlessLost(running, event)
        if (accepted && accepted !== 'lost') return { running, acceptedEvent: event, ...(accepted === 'known' && { known: true }) }
      }
      await running?.finished.catch(() => {}) // the inbox is closed, or the claim is lost: wait for the end of the conversation, then try again
    }
  }

  /** How a message or event is offered, if the conversation could not be started because of this error. Throws any other error. */
  function offerAfter(error: unknown): 'queued' | 'elsewhere' {
    if (elsewhere.isLeftToNewer(error)) return 'queued'
    if (runsElsewhere(error) || isSuperseded(error)) return 'elsewhere'
    throw error
  }

  async function exclude<T>(conversationId: string, work: (putBlobs: readonly BlobRef[]) => Promise<T>): Promise<T> {
    for (let before = excluded.get(conversationId); before; before = excluded.get(conversationId)) await before
    const { promise, resolve } = Promise.withResolvers<void>()
    excluded.set(conversationId, promise)
    try {
      const running = await active.get(conversationId)?.catch(() => undefined)
      running?.abort(new DOMException('The conversation is deleted.', 'AbortError'))
      await running?.finished.catch(() => {}) // the callers of the stopped turn get the error
      kept.forget(conversationId)
      return await work(running?.putBlobs() ?? [])
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
        if (running) {
          const accepted = await acceptUnlessLost(running, event)
          if (accepted !== 'lost') return accepted
          await running.finished.catch(() => {}) // the caller that started the conversation gets the error
        }
        if (excluded.has(conversationId) || closed) return false
        const answer = await elsewhere.steer(conversationId, event)
        if (answer !== 'here') return answer
        if (!active.has(conversationId)) return false // the lease is left over from a conversation that has ended
      }
    },
    deliverOrStart,
    attachWorker(attached) {
      worker = attached
      watchOffers()
      return () => {
        worker = undefined
        unwatchIfIdle()
      }
    },
    start: async (conversationId, reason) =>
      isForWorker(conversationId) || active.has(conversationId) || excluded.has(conversationId) ? undefined : start(conversationId, reason),
    async startClaimed(claim) {
      const { conversationId } = claim
      if (!closed && !active.has(conversationId) && !excluded.has(conversationId))
        return start(conversationId, { kind: 'unfinished', claim })
      await releaseClaim(agent(), claim, 'done') // a message has started it meanwhile, it is being deleted, or the agent is closed
      return undefined
    },
    byTenant() {
      const counts = new Map<string, number>()
      for (const id of active.keys()) {
        if (isChildKey(id)) continue
        const tenant = tenantOfKey(id)
        counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
      }
      return counts
    },
    find: async (conversationId) => active.get(conversationId)?.catch(() => undefined),
    get conversationIds() {
      return active.keys()
    },
    slowCommits: commits.countOver,
    get size() {
      return active.size
    },
    async drain(withinMs, handOver = false) {
      const running = [...active.values()].map(async (starting) => {
        const conversation = await starting
        if (handOver && store.relay) conversation?.handOver()
        await conversation?.finished
      })
      const { promise: timeUp, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, withinMs)
      await Promise.race([Promise.allSettled(running), timeUp])
      clearTimeout(timer)
    },
    async close() {
      closed = true
      worker = undefined
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

/** Throws if another process has taken the conversation before the message or event that started it was journaled. */
async function unlessLost(running: RunningConversation | undefined): Promise<RunningConversation | undefined> {
  await running?.journaled.catch(async (error: unknown) => {
    if (!isSuperseded(error)) return // the caller gets any other error as the result of the turn
    await running.finished.catch(() => {})
    throw error
  })
  return running
}

/** Gives an event to a running conversation. If another process has taken the conversation, the conversation ends in this process. */
async function acceptUnlessLost(running: RunningConversation, event: NewEvent): Promise<'accepted' | 'known' | 'lost' | false> {
  try {
    return await running.inbox.accept(event)
  } catch (error) {
    if (!isSuperseded(error)) throw error
    running.abort(error)
    return 'lost'
  }
}

const agentClosed = () => new Failure('store.closed', 'this agent is closed')
