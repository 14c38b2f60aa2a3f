import { cutAt } from '../../../core/cut.ts'
import { type NextWork, retryPauseMs, type WorkLimits, type WorkSummary } from '../../../ports/store/work-list.ts'
import { LEASE_MS } from '../../../ports/store.ts'

/*
 * An attempt is a claim by `claimNext`. It is counted when it begins, because a process that dies can not count it later:
 *
 *   released as done            the count becomes 0
 *   released as failed          the count stays, and the next attempt adds 1
 *   not released (a crash)      the next attempt adds 1. If the journal has new entries, it sets the count to 1 instead
 *
 * A turn that crashes again and again after new entries is ended by other limits: the agent counts how often it repeats a call, and a turn
 * has a limit of rounds.
 */

/** The attempts of a conversation, as they are stored. */
export interface Attempts {
  readonly attempts: number
  readonly attempt_seq: number | null
  readonly retry_at: string | null
  readonly parked_at: string | null
  readonly failure: string | null
}

export const noAttempts: Attempts = { attempts: 0, attempt_seq: null, retry_at: null, parked_at: null, failure: null }

/** The attempts after a claim. If too many attempts have failed, the result parks the conversation, and it is not claimed. */
export function attemptsAtClaim(row: Attempts & { readonly last_seq: number }, now: string, { maxAttempts }: WorkLimits): Attempts {
  const failed = row.attempt_seq === row.last_seq ? row.attempts : 0
  if (failed >= maxAttempts) return { ...row, parked_at: now }
  return {
    attempts: failed + 1,
    attempt_seq: row.last_seq,
    retry_at: later(now, retryPauseMs(failed + 1)),
    parked_at: null,
    failure: failed === 0 ? null : row.failure,
  }
}

/** The attempts after the release of a claim. Undefined when they do not change. */
export function attemptsAtRelease(
  row: Attempts & { readonly last_seq: number },
  now: string,
  result: 'done' | { readonly failed: string } | undefined,
): Attempts | undefined {
  if (result === undefined) return undefined
  if (result === 'done') return noAttempts
  const attempts = Math.max(1, row.attempts)
  return { ...row, attempts, attempt_seq: row.last_seq, retry_at: later(now, retryPauseMs(attempts)), failure: failureText(result.failed) }
}

/** The answer of `claimNext` when no conversation can be claimed before `at`. */
export const nothingBefore = (at: string | null | undefined, now: string): NextWork =>
  at == null ? {} : { nextInMs: Math.max(1, Date.parse(at) - Date.parse(now)) }

/** After this many attempts, the pause does not grow any more. */
export const PAUSES = 10

/**
 * `free_at` of a running conversation is at most this many milliseconds ahead: it is the end of the lease or, if earlier attempts have
 * failed, the end of the pause. The sum of both leaves a margin, because the clocks of two processes can differ.
 */
export const MAX_FREE_AT_MS = LEASE_MS + retryPauseMs(PAUSES)

export const later = (now: string, ms: number): string => new Date(Date.parse(now) + ms).toISOString()

const MAX_FAILURE = 500

/** A reason as it is stored. PostgreSQL can not store the character U+0000. */
const failureText = (text: string): string => cutAt(text.toWellFormed().replaceAll('\0', ''), MAX_FAILURE)

/** What a store counts for a summary. A time is null when there is no such conversation, and `''` when the time is unknown. */
export interface WorkCounts {
  readonly waiting: number
  readonly firstWaiting: string | null
  readonly running: number
  readonly firstLease: string | null
  readonly parked: number
}

export function summaryOf({ waiting, firstWaiting, running, firstLease, parked }: WorkCounts, now: string): WorkSummary {
  const secondsSince = (time: string | null, back = 0) =>
    time === null || time === '' ? 0 : Math.max(0, (Date.parse(now) - Date.parse(time) + back) / 1000)
  return {
    waiting,
    longestWaitSeconds: secondsSince(firstWaiting),
    running,
    oldestLeaseSeconds: secondsSince(firstLease, LEASE_MS),
    parked,
  }
}
