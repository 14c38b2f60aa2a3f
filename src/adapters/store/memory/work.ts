import { isChildKey, tenantOfKey } from '../../../core/scope.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { ConversationInfo } from '../../../ports/store/list.ts'
import { NO_REASON, type WorkList } from '../../../ports/store/work-list.ts'
import type { FoundConversation } from '../../../ports/store.ts'
import { isFree, isHeld, leaseExpiry } from '../shared/lease.ts'
import { attemptsAtClaim, noAttempts, nothingBefore, summaryOf } from '../shared/work.ts'
import type { MemoryConversation } from './conversation.ts'

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

/** The work list of a store in memory. It looks at all conversations each time. */
export function createWorkList({ conversations, clock, newEpoch, write, onFree }: WorkListParts): WorkList {
  const lastServed = new Map<string, number>()

  /** From when on there is work in the conversation, without a look at its lease. Undefined when there is none. */
  function workAt(conversationId: string, { info, attempts, offeredAt }: MemoryConversation): string | undefined {
    if (attempts.parked_at !== null || isChildKey(conversationId)) return undefined
    const isUnfinished = info.openTurn !== null || info.waiting.length > 0
    const at = info.offers > 0 ? (offeredAt ?? '') : info.waits.length > 0 ? info.dueAt : isUnfinished ? '' : null
    return at === null ? undefined : latest(at, attempts.retry_at)
  }

  const listed = () =>
    [...conversations].flatMap(([id, conversation]) => {
      const at = workAt(id, conversation)
      return at === undefined ? [] : [{ id, conversation, at, tenant: tenantOfKey(id), freeAt: latest(at, conversation.lease.expiresAt) }]
    })
  type Listed = ReturnType<typeof listed>[number]
  const isRunning = (now: string) => (each: Listed) => isHeld(each.conversation.lease, now)

  return {
    claimNext: async (owner, limits) =>
      write(() => {
        const now = clock.now()
        const all = listed()
        const running = Map.groupBy(all.filter(isRunning(now)), ({ tenant }) => tenant)
        const served = ({ tenant }: Listed) => lastServed.get(tenant) ?? 0
        const ready = all
          .filter(({ at, conversation: { lease } }) => at <= now && isFree(lease, owner, now))
          .filter(({ tenant }) => !limits.leftOut?.includes(tenant))
          .filter(({ tenant }) => (running.get(tenant)?.length ?? 0) < (limits.runningPerTenant ?? Number.POSITIVE_INFINITY))
          .sort((a, b) => served(a) - served(b) || compare(a.tenant, b.tenant) || compare(a.freeAt, b.freeAt))
        for (const { id, conversation, tenant } of ready) {
          conversation.attempts = attemptsAtClaim(rowOf(conversation), now, limits)
          if (conversation.attempts.parked_at !== null) continue
          const expiresAt = leaseExpiry(now)
          const epoch = newEpoch()
          const found = foundIn(conversation)
          conversation.lease = { epoch, owner, expiresAt }
          lastServed.set(tenant, epoch)
          return { claim: { conversationId: id, ownerId: owner.id, epoch, expiresAt, found } }
        }
        return nothingBefore(first(listed().flatMap(({ freeAt }) => (freeAt > now ? [freeAt] : []))), now)
      }),

    retry: async (conversationId) =>
      write(() => {
        const conversation = conversations.get(conversationId)
        if (!conversation || (conversation.attempts.parked_at === null && conversation.attempts.failure === null)) return false
        conversation.attempts = noAttempts
        onFree(conversationId)
        return true
      }),

    async backlog(conversationId, atMost) {
      const now = clock.now()
      const waiting = listed().filter(({ tenant, freeAt }) => tenant === tenantOfKey(conversationId) && freeAt <= now)
      return waiting.slice(0, atMost).reduce((sum, { conversation }) => sum + Math.max(1, conversation.info.offers), 0)
    },

    async summary() {
      const now = clock.now()
      const all = listed()
      const waiting = all.filter(({ freeAt }) => freeAt <= now)
      const running = all.filter(isRunning(now))
      return summaryOf(
        {
          waiting: waiting.length,
          firstWaiting: first(waiting.map(({ freeAt }) => freeAt).filter((at) => at !== '')),
          running: running.length,
          firstLease: first(running.flatMap(({ conversation: { lease } }) => lease.expiresAt ?? [])),
          parked: [...conversations.values()].filter(({ attempts }) => attempts.parked_at !== null).length,
        },
        now,
      )
    },
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const first = (times: readonly string[]): string | null => [...times].sort(compare)[0] ?? null
const latest = (time: string, other: string | null): string => (other !== null && other > time ? other : time)
