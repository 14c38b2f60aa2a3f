import { Failure } from '../../../core/failure.ts'
import { type Claim, LEASE_MS, type Owner } from '../../../ports/store.ts'
import { conversationMissing } from './conversation-info.ts'
import { findProcess, isProvenDead } from './owner-death.ts'

/**
 * The lease of a conversation, as a store saves it. If `owner` is null, no process holds the lease. While an agent runs a conversation,
 * `startHeartbeat` in agent/conversation/claim.ts renews the lease with `store.renew`. A deletion extends it with each of its steps
 * (`removal/delete.ts`).
 */
export interface Lease {
  readonly epoch: number
  readonly owner: Owner | null
  readonly expiresAt: string | null
}

/** Returns the time at which a lease ends if it is claimed or renewed at `now`. */
export const leaseExpiry = (now: string): string => new Date(Date.parse(now) + LEASE_MS).toISOString()

/** Whether a lease has an owner and has not expired. The owner may be dead. */
export const isHeld = ({ owner, expiresAt }: Lease, now: string): boolean => owner !== null && expiresAt !== null && expiresAt > now

/**
 * Whether no living process holds the lease. `claimant` describes the calling process. Without a claimant, the lease is free only if it has
 * expired.
 */
export function isFree(lease: Lease, claimant: Owner | undefined, now: string): boolean {
  if (!isHeld(lease, now)) return true
  return lease.owner !== null && claimant !== undefined && isProvenDead(lease.owner, claimant, findProcess)
}

/** Throws `conversation.busy` while another owner holds the lease. The lease of an owner that is proven dead is free. */
export function checkLeaseFree(conversationId: string, lease: Lease, claimant: Owner, now: string): void {
  const { owner, expiresAt } = lease
  if (owner === null || owner.id === claimant.id || !isHeld(lease, now) || isProvenDead(owner, claimant, findProcess)) return
  throw new Failure(
    'conversation.busy',
    `conversation ${conversationId} is in use by ${describeOwner(owner, claimant)} until ${expiresAt}, or longer if it keeps working: try again then, or end it first`,
    { details: { conversationId, owner, expiresAt } },
  )
}

function describeOwner(owner: Owner, claimant: Owner): string {
  const { host, pid, startedAt, bootId, pidNs } = owner
  const isNamespaceOther = host === claimant.host && (bootId !== claimant.bootId || pidNs !== claimant.pidNs)
  if (isNamespaceOther) return `process ${pid} on ${host} (in another container or before a restart)`
  const isSameProcess = host === claimant.host && pid === claimant.pid && startedAt === claimant.startedAt
  return `process ${pid} on ${host}${isSameProcess ? ' (another agent in this process)' : ''}`
}

/**
 * Throws `conversation.superseded` if a later claim exists or if this claim was released. Throws `conversation.missing` if `lease` is
 * undefined, which means that the conversation was deleted.
 */
export function checkClaim(claim: Claim, lease: Lease | undefined): void {
  const { conversationId, ownerId, epoch } = claim
  if (lease === undefined) throw conversationMissing(conversationId)
  if (lease.epoch === epoch && lease.owner?.id === ownerId) return
  const reason = lease.owner === null ? 'has ended' : `was taken over by ${lease.owner.id}`
  throw new Failure(
    'conversation.superseded',
    `the claim on conversation ${conversationId} ${reason}: nothing was written; claim the conversation again and load its new entries`,
    { details: { conversationId, epoch, currentEpoch: lease.epoch } },
  )
}
