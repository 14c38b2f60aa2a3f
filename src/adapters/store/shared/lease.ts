import { Failure } from '../../../core/failure.ts'
import { type Claim, LEASE_MS, type Owner } from '../../../ports/store.ts'
import { conversationMissing } from './conversation-list.ts'

/** The right to write to a conversation. It is free when `owner` is null. */
export interface Lease {
  readonly epoch: number
  readonly owner: Owner | null
  readonly expiresAt: string | null
}

/** When a lease expires that is claimed or renewed at `now`. */
export const leaseExpiry = (now: string): string => new Date(Date.parse(now) + LEASE_MS).toISOString()

/** Whether a lease is neither expired nor released. If `host` is the owner's host, the owner's process must also be running. */
export function isAlive(lease: Lease, now: string, host?: string): boolean {
  if (lease.owner === null || lease.expiresAt === null || lease.expiresAt <= now) return false
  return lease.owner.host !== host || isRunning(lease.owner.pid)
}

/** Throws `conversation.busy` while the lease of another owner is alive. */
export function checkLeaseFree(conversationId: string, lease: Lease, claimant: Owner, now: string): void {
  const { owner, expiresAt } = lease
  if (owner === null || owner.id === claimant.id || !isAlive(lease, now, claimant.host)) return
  throw new Failure(
    'conversation.busy',
    `conversation ${conversationId} is held by ${owner.id} (process ${owner.pid} on ${owner.host}) until ${expiresAt}: wait for it, or claim it with takeOver: 'always'`,
    { details: { conversationId, owner, expiresAt } },
  )
}

/**
 * Throws `conversation.superseded` unless the claim is the latest of its conversation. `lease` is undefined when the conversation was
 * deleted; that throws `conversation.missing`.
 */
export function checkClaim(claim: Claim, lease: Lease | undefined): void {
  const { conversationId, ownerId, epoch } = claim
  if (lease === undefined) throw conversationMissing(conversationId)
  if (lease.epoch === epoch && lease.owner?.id === ownerId) return
  const reason = lease.owner === null ? 'was given back' : `was lost to ${lease.owner.id}`
  throw new Failure(
    'conversation.superseded',
    `the lease on ${conversationId} ${reason}: nothing was written; claim it again and load what happened since`,
    { details: { conversationId, epoch, currentEpoch: lease.epoch } },
  )
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH') // other errors mean that the process exists
  }
}
