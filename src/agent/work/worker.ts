import { tenantOfKey } from '../../core/scope.ts'
import type { Claim, ConversationStore, Owner } from '../../ports/store.ts'
import type { Problem } from '../agent-context.ts'
import { isLost } from '../conversation/claim.ts'
import type { RunningConversation } from '../conversation/context.ts'
import type { RunningConversations } from '../conversation/running.ts'
import { createFairShare } from './fair-share.ts'

/** Options of `Agent.work`. */
export interface WorkOptions {
  /** How many conversations this agent runs at the same time. Further conversations wait in the store. Default: 1,000. */
  readonly conversations?: number
  /** How many conversations of one tenant run at the same time, in all processes with this store. Default: without limit. */
  readonly perTenant?: number
  /** After how many attempts that failed a conversation is parked. Default: 10. */
  readonly attempts?: number
  /** Called when a turn continues that another process has left open or that has waited. Servers write this to their log. */
  readonly onResumed?: (turn: { readonly conversationId: string; readonly turnId: string }) => void
}

const defaults = { conversations: 1_000, attempts: 10 }

/** The time between two checks for work if no notification arrives. A notification may be lost, for example when a connection breaks. */
const SWEEP_MS = 5_000

/** The shortest time in milliseconds after which a worker checks for work again, for example because a lease ends. */
const MIN_PAUSE_MS = 10

/** How often a worker looks for work that is not in the work list: unfinished deletions, and sub-agents with a new event. */
const UPKEEP_MS = 30_000

/** How long a worker waits after the store failed. */
const FAILURE_PAUSE_MS = 1_000

/** Takes conversations from the work list of the store, and runs them. */
export interface Worker {
  /**
   * Checks for work now. It is called when a message for the given conversation has arrived, or when a conversation has ended in this
   * process.
   */
  wake(conversationId?: string): void
  /**
   * Whether a new message of this conversation has to wait in the work list, because this process already runs as many conversations as it
   * may.
   */
  isFull(conversationId: string): boolean
  /**
   * Whether the running conversations of each tenant are limited. If so, only the worker may start a conversation: the limit is for all
   * processes together, and only the work list counts the conversations of all processes.
   */
  readonly limitsTenants: boolean
  stop(): void
}

/** Starts and ends the worker of an agent. An agent has at most one worker. */
export function createWork({
  acceptOnly,
  ...parts
}: WorkerParts & { readonly acceptOnly: boolean; readonly conversations: Pick<RunningConversations, 'attachWorker'> }) {
  let end = () => {}
  return {
    /** Starts a worker and ends the previous one. Returns a function that ends the new worker. */
    start(options: WorkOptions): () => void {
      if (acceptOnly) throw new TypeError('an agent with `acceptOnly` runs no turns, so it can not `work`')
      end()
      const worker = startWorker(parts, options)
      const detach = parts.conversations.attachWorker(worker)
      const endSchedules = parts.sendScheduled()
      let isEnded = false
      end = () => {
        if (isEnded) return
        isEnded = true
        endSchedules()
        worker.stop()
        detach()
      }
      return end
    },
    end: () => end(),
  }
}

/** The time and the timers of a worker. */
export interface WorkerTimers {
  /** The current time in milliseconds, from a clock that is never set back. */
  nowMs(): number
  /** Calls `run` once after `ms` milliseconds, unless the returned function is called before. Does not keep the process running. */
  after(ms: number, run: () => void): () => void
}

export const systemTimers: WorkerTimers = {
  nowMs: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  },
}

/** The parts of an agent that its worker uses. */
export interface WorkerParts {
  readonly store: Pick<ConversationStore, 'work' | 'release'>
  readonly owner: Owner
  /** The conversations that this process runs. `startClaimed` resolves with undefined when there is nothing to run. */
  readonly conversations: {
    readonly size: number
    startClaimed(claim: Claim): Promise<RunningConversation | undefined>
    /** How many conversations of each tenant run in this process. */
    byTenant(): ReadonlyMap<string, number>
  }
  /** Does the work that is not in the work list. `isStart` is true for the first call of a worker. */
  upkeep(isStart: boolean): Promise<void>
  /** Sends scheduled messages from now on, until the returned function is called. */
  sendScheduled(): () => void
  onProblem(problem: Problem): void
  readonly timers: WorkerTimers
}

/**
 * Starts a worker. It claims conversations while it may run more of them. Otherwise it waits until a conversation ends, an event is
 * offered, or the next lease ends. The list of work is in the store and not in memory, so any number of workers can share it.
 */
export function startWorker(parts: Omit<WorkerParts, 'sendScheduled'>, options: WorkOptions = {}): Worker {
  const { store, owner, conversations, upkeep, onProblem, timers } = parts
  const { conversations: max, perTenant, attempts, onResumed } = { ...defaults, ...options }
  const limits = { maxAttempts: attempts, ...(perTenant !== undefined && { runningPerTenant: perTenant }) }
  const share = createFairShare({ slots: max, running: conversations.byTenant, nowMs: timers.nowMs })
  let stopped = false
  let isLooking = false
  let again = false
  /**
   * Whether the work list may have more conversations than this process could take. In this case new messages also wait in the work list.
   */
  let mayHaveMore = false
  let looksAt = 0
  let cancelLook = () => {}

  async function look(): Promise<void> {
    if (isLooking) {
      again = true
      return
    }
    isLooking = true
    let pause = SWEEP_MS
    try {
      do {
        again = false
        pause = await takeAll()
      } while (again && !stopped)
    } catch (error) {
      if (!stopped) onProblem({ where: 'work', error })
      pause = FAILURE_PAUSE_MS
    } finally {
      isLooking = false
    }
    lookIn(pause)
  }

  /**
   * Claims conversations until there is nothing to claim or this process is full. Returns the number of milliseconds after which to check
   * for work again.
   */
  async function takeAll(): Promise<number> {
    while (!stopped) {
      mayHaveMore = conversations.size >= max
      if (mayHaveMore) return SWEEP_MS // the worker checks earlier if a conversation ends, because this wakes it
      const { tenants: leftOut, endsInMs = SWEEP_MS } = share.leftOut()
      const before = timers.nowMs()
      const { claim, ...next } = await store.work.claimNext(owner, { ...limits, leftOut })
      if (!claim) return Math.min('nextInMs' in next && next.nextInMs !== undefined ? next.nextInMs : SWEEP_MS, endsInMs)
      share.claimed(tenantOfKey(claim.conversationId), timers.nowMs() - before)
      if (stopped) await store.release(claim, 'done')
      else run(claim)
    }
    return SWEEP_MS
  }

  function run(claim: Claim): void {
    const claimedAt = timers.nowMs()
    conversations
      .startClaimed(claim)
      .then((started) => {
        if (started) share.started(timers.nowMs() - claimedAt)
        if (started?.isResumed) onResumed?.({ conversationId: claim.conversationId, turnId: started.firstTurnId })
        return started?.firstResult
      })
      .catch((error: unknown) => {
        if (!isLost(error) && !stopped) onProblem({ where: 'turn', error })
      })
  }

  function lookIn(ms: number): void {
    cancelLook()
    if (stopped) return
    const pause = Math.max(MIN_PAUSE_MS, Math.min(ms, SWEEP_MS))
    looksAt = timers.nowMs() + pause
    cancelLook = timers.after(pause, () => void look())
  }

  /** Checks for work now. If the tenant of the conversation is left out, it checks when this tenant is served again. */
  function wakeFor(conversationId: string | undefined): void {
    const { tenants, endsInMs = SWEEP_MS } = share.leftOut()
    const isForLater = conversationId !== undefined && tenants.includes(tenantOfKey(conversationId))
    if (!isForLater) void look()
    else if (looksAt > timers.nowMs() + endsInMs) lookIn(endsInMs)
  }

  const keepUp = (isStart: boolean) =>
    void upkeep(isStart).catch((error: unknown) => {
      if (!stopped) onProblem({ where: 'recover', error })
    })
  let cancelUpkeep = () => {}
  const keepUpLater = () => {
    cancelUpkeep = timers.after(UPKEEP_MS, () => {
      keepUp(false)
      keepUpLater()
    })
  }
  keepUp(true)
  keepUpLater()
  void look()
  return {
    wake(conversationId) {
      if (stopped) return
      // The tenant is recorded even while the worker is full, so that slots are kept for it when conversations end.
      if (conversationId !== undefined) share.seen(tenantOfKey(conversationId))
      if (isLooking) again = true
      else if (conversations.size >= max)
        mayHaveMore = true // when a conversation ends, the worker is woken again
      else wakeFor(conversationId)
    },
    isFull(conversationId) {
      const tenant = tenantOfKey(conversationId)
      share.seen(tenant)
      return conversations.size >= max || mayHaveMore || share.hasToQueue(tenant)
    },
    limitsTenants: perTenant !== undefined,
    stop() {
      stopped = true
      cancelLook()
      cancelUpkeep()
    },
  }
}
