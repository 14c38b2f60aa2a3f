import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../core/failure.ts'
import { isChildKey } from '../../core/scope.ts'
import { isKnownEvent } from '../../core/timeline/timeline.ts'
import type { ConversationInfo } from '../../ports/store/list.ts'
import type { OfferOutcome, Owner } from '../../ports/store.ts'
import type { AgentContext } from '../agent-context.ts'
import { isMissing } from '../deletion.ts'
import { isAwaited, wakeCallers } from '../waits/child-waits.ts'
import { isBusy, isLost, isNewer } from './claim.ts'
import type { RunningConversation } from './context.ts'
import { createDueTimes } from './due-times.ts'
import type { Inbox, NewEvent } from './inbox.ts'
import type { DeliveryResult } from './running.ts'
import { missingConversation } from './start-reason.ts'

/** How often an agent checks whether another process has ended, while a message of the agent waits for that process. */
const TAKE_OVER_MS = 1_000

/** How long `steer` waits until the other process has taken the steer, and how often it checks this. */
const STEER_WAIT_MS = 10_000
const STEER_POLL_MS = 50

interface LocalConversations {
  /** Whether the conversation must not be started, because it is running in this process or is being deleted. */
  isActive(conversationId: string): boolean
  /**
   * Whether conversations are taken from the work list, by this process or by others. If so, the functions of this file start no
   * conversation.
   */
  isLeftToWorkers(): boolean
  /** Claims the conversation and continues its unfinished work. */
  start(conversationId: string): Promise<RunningConversation | undefined>
}

/**
 * Sends events to conversations that other processes run. An event is offered: it is stored at once, and the other process takes it. If
 * that process ends before the event is answered, this process continues the conversation:
 *
 *   this process    offers, then tries to claim
 *   the other one   takes offers while it runs, releases its claim, then looks for offers again
 *
 * So an offer that comes while the other process ends is seen by one of the two.
 */
export function createElsewhere(agent: AgentContext, owner: Owner, local: LocalConversations) {
  const { store, onProblem } = agent // not changed when parts of the agent are replaced
  const closed = new AbortController()
  const watched = new Set<string>()
  const dueTurns = createDueTimes(agent.clock, (conversationId) => {
    if (local.isActive(conversationId) || local.isLeftToWorkers()) return
    tryToStart(conversationId).catch((error: unknown) => {
      if (!closed.signal.aborted) onProblem({ where: 'recover', error })
    })
  })

  /** Continues the conversation in this process as soon as no other process runs it, until it has no work left. */
  async function takeOverWhenFree(conversationId: string): Promise<void> {
    if (watched.has(conversationId) || local.isLeftToWorkers()) return
    watched.add(conversationId)
    try {
      while (!closed.signal.aborted && hasWork(await store.head(conversationId))) {
        const isFree = (await store.findOwner(conversationId, owner)) === undefined
        if (isFree && !local.isActive(conversationId)) await tryToStart(conversationId)
        await sleep(TAKE_OVER_MS, undefined, { ref: false, signal: closed.signal })
      }
    } catch (error) {
      if (!closed.signal.aborted) onProblem({ where: 'offers', error })
    } finally {
      watched.delete(conversationId)
    }
  }

  /**
   * Resumes a turn at `dueAt`, if this process still runs then and the turn waits for a model provider. A turn that waits for a sub-agent
   * is also resumed then, because the sub-agent may wait for a provider. Other waits end when something arrives.
   */
  function resumeWhenDue({ conversationId, waits, dueAt }: ConversationInfo): void {
    if (local.isLeftToWorkers() || dueAt === null || !waits.some(({ kind }) => kind === 'provider' || kind === 'child')) return
    dueTurns.add(conversationId, Date.parse(dueAt))
  }

  async function resumeReleased(conversationId: string): Promise<void> {
    const head = await store.head(conversationId)
    if (!head) return
    if (head.offers > 0) void takeOverWhenFree(conversationId)
    else resumeWhenDue(head)
    const { openTurn } = head
    if (openTurn === null && isChildKey(conversationId) && (await isAwaited(store, conversationId)))
      await wakeCallers(store, conversationId, agent.clock.now())
  }

  async function tryToStart(conversationId: string): Promise<void> {
    try {
      const running = await local.start(conversationId)
      running?.firstResult.catch((error: unknown) => onProblem({ where: 'turn', error }))
    } catch (error) {
      if (!isBusy(error) && !isLost(error)) throw error
    }
  }

  /**
   * Waits until the offer is taken. Returns undefined when it is not taken in time. In this case the offer stays stored, and the turn reads
   * it later.
   */
  async function untilTaken(conversationId: string, eventId: string): Promise<OfferOutcome | undefined> {
    for (let waited = 0; waited < STEER_WAIT_MS && !closed.signal.aborted; waited += STEER_POLL_MS) {
      const outcome = await store.findOffer(conversationId, eventId)
      if (outcome !== 'open') return outcome ?? 'refused' // undefined means that the conversation was deleted
      await sleep(STEER_POLL_MS)
    }
    return undefined
  }

  /** Whether a process of a newer version takes the conversation from the work list, because this error occurs in this process. */
  const isLeftToNewer = (error: unknown) => isNewer(error) && local.isLeftToWorkers() && store.relay !== undefined

  async function queue(conversationId: string, event: NewEvent, create: boolean): Promise<DeliveryResult> {
    const head = await store.head(conversationId)
    const answer = await store.offer(conversationId, event, create ? { create } : {})
    const offered = { event, lastSeq: head?.lastSeq ?? 0, openTurn: head?.openTurn ?? null }
    return { running: undefined, offered, ...(answer === 'known' && { known: true }) }
  }

  return {
    isLeftToNewer,

    /** Offers an event to the process that runs the conversation. */
    async offer(conversationId: string, event: NewEvent): Promise<DeliveryResult> {
      const saved = await store.loadVisible(conversationId).catch((error: unknown) => {
        if (!isLeftToNewer(error)) throw error
        return 'newer' as const
      })
      if (saved === 'newer') return queue(conversationId, event, false)
      if (!saved) throw missingConversation(conversationId)
      const { timeline, lastSeq } = saved
      const offered = { event, lastSeq, openTurn: timeline.openTurn?.turn_id ?? null }
      if (isKnownEvent(timeline, event.event_id)) return { running: undefined, offered, known: true }
      const answer = await store.offer(conversationId, event)
      void takeOverWhenFree(conversationId)
      return { running: undefined, offered, ...(answer === 'known' && { known: true }) }
    },

    /**
     * Puts an event into the work list of the store, in one transaction. With `create`, the conversation is created if it does not exist.
     * Even an event that the journal already has is offered. The process that takes the offer then sees that the event is known.
     */
    queue,

    /**
     * Offers a steer to the process that runs the open turn. Resolves with false when no turn is running, or when it has just ended.
     * Resolves with `here` when this agent has just claimed the conversation.
     */
    async steer(conversationId: string, event: NewEvent): Promise<Awaited<ReturnType<Inbox['accept']>> | 'here'> {
      const openTurn = (await store.head(conversationId))?.openTurn
      if (openTurn === undefined || openTurn === null) return false
      if (event.target_turn_id !== undefined && event.target_turn_id !== openTurn) return false
      const holder = await store.findOwner(conversationId, owner)
      if (holder === undefined && !local.isLeftToWorkers()) return false
      if (holder?.id === owner.id) return 'here'
      try {
        if ((await store.offer(conversationId, { ...event, target_turn_id: openTurn })) === 'known') return 'known'
      } catch (error) {
        if (isMissing(error)) return false
        throw error
      }
      const outcome = await untilTaken(conversationId, event.event_id)
      return outcome === 'refused' ? false : (outcome ?? 'accepted')
    },

    /**
     * Called when this process has released the claim of a conversation. Continues the conversation if it has offers that were not taken.
     * If its turn waits for a model provider, continues it when the provider can be asked again. If the turn of a sub-agent has ended while
     * its caller waits, wakes the caller.
     */
    resumeIfOffered(conversationId: string): void {
      if (closed.signal.aborted) return
      resumeReleased(conversationId).catch((error: unknown) => {
        if (!closed.signal.aborted && !isClosedStore(error)) onProblem({ where: 'offers', error })
      })
    },

    close() {
      closed.abort()
      dueTurns.close()
    },
  }
}

const isClosedStore = (error: unknown) => error instanceof Failure && error.code === 'store.closed'

/** Whether the conversation has work for a process. A turn that waits for a person or a late result needs no process. */
function hasWork(head: ConversationInfo | undefined): boolean {
  if (head === undefined || head.offers > 0) return head !== undefined
  return head.waits.length === 0 && (head.openTurn !== null || head.waiting.length > 0)
}
