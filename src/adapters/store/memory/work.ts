import { isChildKey, tenantOfKey } from '../../../core/scope.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { ConversationInfo } from '../../../ports/store/list.ts'
import { NO_REASON, type WorkLimits, type WorkList } from '../../../ports/store/work-list.ts'
import type { Claim, FoundConversation, Owner } from '../../../ports/store.ts'
import { isFree, isHeld, leaseExpiry } from '../shared/lease.ts'
import { attemptsAtClaim, noAttempts, nothingBefore, summaryOf } from '../shared/work.ts'
import type { MemoryConversation } from './conversation.ts'
import { createWorkQueue } from './work-queue.ts'

/** The info of a conversation, with the reason why it is parked. */
export function infoOf(conversationId: string, { info, attempts: { parked_at, attempts, failure } }: MemoryConversation): ConversationInfo {
  return { conversationId, ...info, ...(parked_at !== null && { parked: { at: parked_at, attempts, reason: failure ?? NO_REASON } }) }
}

export const rowOf = ({ attempts, info }: MemoryConversation) => ({ ...attempts, last_seq: info.lastSeq })

export const foundIn = ({ lease, info }: MemoryConversation): FoundConversation => ({
  epoch: lease.epoch,
  lastSeq: info.lastSeq,
  offers: info.offers,
})

interface WorkListParts {
  readonly conversations: ReadonlyMap<string, MemoryConversation>
  readonly clock: Pick<Clock, 'now'>
  newEpoch(): number
  write<T>(work: () => T | Promise<T>): Promise<T> | T
  onFree(conversationId: string): void
}

/**
 * The work list of a store in memory. `note` must be called after every change that may give a conversation work or make it free earlier.
 */
export function createWorkList({ conversations, clock, newEpoch, write, onFree }: WorkListParts): WorkList & {
  note(conversationId: string): void
} {
  const lastServed = new Map<string, number>()
  const queue = createWorkQueue((id) => freeAt(id, conversations.get(id)))
  /** The conversations that have an owner. */
  const owned = new Set<string>()

  const listed = () =>
    [...conversations].flatMap(([id, conversation]) => {
      const at = freeAt(id, conversation)
      return at === undefined ? [] : [{ id, conversation, tenant: tenantOfKey(id), freeAt: at }]
    })

  function note(conversationId: string): void {
    if (conversations.get(conversationId)?.lease.owner) owned.add(conversationId)
    else owned.delete(conversationId)
    queue.note(conversationId)
  }

  /** The conversations with work that are running, and when their leases end. */
  function running(now: string) {
    return [...owned].flatMap((id) => {
      const conversation = conversations.get(id)
      const at = freeAt(id, conversation)
      return conversation && at !== undefined && isHeld(conversation.lease, now) ? [{ id, conversation, freeAt: at }] : []
    })
  }

  function claimReady(owner: Owner, { leftOut, runningPerTenant, ...limits }: WorkLimits, now: string): Claim | undefined {
    const counts = runningPerTenant === undefined ? undefined : Map.groupBy(running(now), ({ id }) => tenantOfKey(id))
    const served = (tenant: string) => lastServed.get(tenant) ?? 0
    const tenants = queue
      .tenants()
      .filter((tenant) => !leftOut?.includes(tenant) && (counts?.get(tenant)?.length ?? 0) < (runningPerTenant ?? 1))
      .sort((a, b) => served(a) - served(b) || compare(a, b))
    for (const tenant of tenants) {
      for (;;) {
        const next = queue.first(tenant)
        const conversation = next && next.at <= now ? conversations.get(next.id) : undefined
        if (!next || !conversation) break
        conversation.attempts = attemptsAtClaim(rowOf(conversation), now, limits)
        if (conversation.attempts.parked_at !== null) continue // a parked conversation is no longer in the queue
        const expiresAt = leaseExpiry(now)
        const epoch = newEpoch()
        const found = foundIn(conversation)
        conversation.lease = { epoch, owner, expiresAt }
        lastServed.set(tenant, epoch)
        note(next.id)
        return { conversationId: next.id, ownerId: owner.id, epoch, expiresAt, found }
      }
    }
    return undefined
  }

  /** Ends the leases of processes on this machine that are dead. Returns whether a lease was ended. */
  function freeDeadOwners(asker: Owner, now: string): boolean {
    let isFreed = false
    for (const id of [...owned]) {
      const conversation = conversations.get(id)
      if (conversation?.lease.owner?.host !== asker.host || !isHeld(conversation.lease, now) || !isFree(conversation.lease, asker, now))
        continue
      conversation.lease = { ...conversation.lease, owner: null, expiresAt: null }
      note(id)
      isFreed = true
    }
    return isFreed
  }

  /**
   * The time at which the next conversation becomes free. Conversations that are already free, but whose tenant has reached its limit, are
   * left out.
   */
  function nextTime(now: string): string | null {
    let next: string | null = null
    for (const tenant of queue.tenants()) {
      const at = queue.first(tenant)?.at
      if (at !== undefined && at > now && (next === null || at < next)) next = at
    }
    return next
  }

  return {
    note,

    claimNext: async (owner, limits) =>
      write(() => {
        const now = clock.now()
        const claim = claimReady(owner, limits, now) ?? (freeDeadOwners(owner, now) ? claimReady(owner, limits, now) : undefined)
        return claim ? { claim } : nothingBefore(nextTime(now), now)
      }),

    retry: async (conversationId) =>
      write(() => {
        const conversation = conversations.get(conversationId)
        if (!conversation || (conversation.attempts.parked_at === null && conversation.attempts.failure === null)) return false
        conversation.attempts = noAttempts
        note(conversationId)
        onFree(conversationId)
        return true
      }),

    async backlog(conversationId, atMost) {
      const now = clock.now()
      const waiting = listed().filter(({ tenant, freeAt: at }) => tenant === tenantOfKey(conversationId) && at <= now)
      return waiting.slice(0, atMost).reduce((sum, { conversation }) => sum + Math.max(1, conversation.info.offers), 0)
    },

    async summary() {
      const now = clock.now()
      const waiting = listed().filter(({ freeAt: at }) => at <= now)
      const held = running(now)
      return summaryOf(
        {
          waiting: waiting.length,
          firstWaiting: first(waiting.map(({ freeAt: at }) => at).filter((at) => at !== '')),
          running: held.length,
          firstLease: first(held.flatMap(({ conversation: { lease } }) => lease.expiresAt ?? [])),
          parked: [...conversations.values()].filter(({ attempts }) => attempts.parked_at !== null).length,
        },
        now,
      )
    },
  }
}

/** The time from which the conversation can be claimed. Undefined when it has no work. */
function freeAt(conversationId: string, conversation: MemoryConversation | undefined): string | undefined {
  if (!conversation) return undefined
  const { info, attempts, offeredAt, lease } = conversation
  if (attempts.parked_at !== null || isChildKey(conversationId)) return undefined
  const isUnfinished = info.openTurn !== null || info.waiting.length > 0
  const at = info.offers > 0 ? (offeredAt ?? '') : info.waits.length > 0 ? info.dueAt : isUnfinished ? '' : null
  return at === null ? undefined : latest(latest(at, attempts.retry_at), lease.expiresAt)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const first = (times: readonly string[]): string | null => [...times].sort(compare)[0] ?? null
const latest = (time: string, other: string | null): string => (other !== null && other > time ? other : time)
