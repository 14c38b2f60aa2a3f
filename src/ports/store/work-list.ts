import type { Claim, Owner } from '../store.ts'

/**
 * The work of a store: the conversations in which a process can do something now. Each store has one list for all its processes:
 *
 *   a message is offered ─▶ the conversation has work ─▶ claimNext ─▶ a process runs its turns ─▶ release
 *                                     ▲                                                            │ the turns failed, or
 *                                     │                              after a pause that grows      │ the process died
 *                                     └────────────────────────────────────────────────────────────┤
 *                                                                    too many failed attempts      ▼
 *                                                                                               parked
 *
 * The conversations of sub-agents are not in the list, because the process that runs the call of a sub-agent also runs the sub-agent.
 */
export interface WorkList {
  /**
   * Takes the lease of a conversation that has work and that no process runs, as `claim` does. No two processes get the same conversation.
   * - The tenant that was served least recently comes first. Its conversation that has waited longest comes first. In the PostgreSQL store,
   *   a turn that a dead process left open comes before waiting messages.
   * - A tenant with `runningPerTenant` running conversations is left out, and so are the tenants in `leftOut`.
   * - A conversation whose turn waits has work when a wait expires or something arrives for the turn.
   * - A conversation whose turns failed has work after a pause. After `maxAttempts` attempts that failed, it is parked.
   * - A conversation that a newer version of Daybook has written to is left out.
   */
  claimNext(owner: Owner, limits: WorkLimits): Promise<NextWork>
  /**
   * Makes a conversation that is parked, or whose turns failed, available to `claimNext` without a pause. Returns false when it is not
   * parked and its turns did not fail.
   */
  retry(conversationId: string): Promise<boolean>
  /**
   * How many messages and turns of a tenant wait: its conversations that could be claimed now, each with its offers. `conversationId` is
   * any conversation of the tenant. At most `atMost` conversations are counted.
   */
  backlog(conversationId: string, atMost: number): Promise<number>
  /** The state of the whole list, for metrics. */
  summary(): Promise<WorkSummary>
}

/** Limits of `claimNext`. */
export interface WorkLimits {
  /** How many conversations of one tenant may run at the same time, in all processes. Default: without limit. */
  readonly runningPerTenant?: number
  /** Tenants whose conversations are not claimed. Default: none. */
  readonly leftOut?: readonly string[]
  /** After how many attempts that failed a conversation is parked. */
  readonly maxAttempts: number
}

/** The answer of `claimNext`. */
export type NextWork =
  | { readonly claim: Claim }
  /**
   * No conversation can be claimed now. If `nextInMs` is set, a conversation may become available in this many milliseconds by the clock of
   * the store, because a lease ends, a turn is due, or a pause is over.
   */
  | { readonly claim?: undefined; readonly nextInMs?: number }

/** How much work there is. */
export interface WorkSummary {
  /** Conversations that could be claimed now. */
  readonly waiting: number
  /** How long the first of the waiting conversations has waited, in seconds. If this time is not known for a conversation, 0 is used. */
  readonly longestWaitSeconds: number
  /** Conversations with work that a process runs now. */
  readonly running: number
  /** The longest time since the lease of one of these running conversations was taken or renewed, in seconds. */
  readonly oldestLeaseSeconds: number
  readonly parked: number
}

/** Why a conversation is not run any more until a message arrives or `retry` is called. */
export interface Parked {
  readonly at: string
  readonly attempts: number
  readonly reason: string
}

/** The pause after an attempt that failed, in milliseconds: one second, then twice as long each time, at most five minutes. */
export const retryPauseMs = (attempts: number): number => Math.min(1_000 * 2 ** Math.max(0, attempts - 1), 300_000)

/** The reason that is stored when a process ended without reporting an error. */
export const NO_REASON = 'the process that ran it ended, or stopped working, each time'
