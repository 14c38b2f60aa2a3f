import { tenantOfKey } from '../../../core/scope.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { WorkLimits, WorkList } from '../../../ports/store/work-list.ts'
import type { Claim, Owner } from '../../../ports/store.ts'
import { type ConversationRow, foundIn, leaseOf } from '../shared/conversation-row.ts'
import { findProcess, isProvenDead } from '../shared/owner-death.ts'
import { attemptsAtClaim, later, MAX_FREE_AT_MS, noAttempts, nothingBefore, summaryOf, type WorkCounts } from '../shared/work.ts'
import type { Conversations } from './conversations.ts'
import type { Database } from './database.ts'

interface WorkListParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly clock: Pick<Clock, 'now'>
  onFree(conversationId: string): void
}

/** The work list in SQLite. `free_at` of a conversation is the time from which it can be claimed: see `schema.ts`. */
export function createWorkList({ database, conversations, clock, onFree }: WorkListParts): WorkList {
  // jumps from tenant to tenant in the index, and reads only one conversation of each tenant
  const readyTenants = database.writeStatement<{ tenant: string }>(
    `WITH RECURSIVE listed (tenant) AS (
       SELECT (SELECT tenant FROM conversations WHERE free_at IS NOT NULL ORDER BY tenant, free_at LIMIT 1)
       UNION ALL
       SELECT (SELECT tenant FROM conversations WHERE free_at IS NOT NULL AND tenant > listed.tenant ORDER BY tenant, free_at LIMIT 1)
       FROM listed WHERE listed.tenant IS NOT NULL
     )
     SELECT listed.tenant FROM listed LEFT JOIN tenants USING (tenant)
     WHERE EXISTS (SELECT 1 FROM conversations WHERE conversations.tenant = listed.tenant AND free_at <= ?)
     ORDER BY coalesce(last_served, 0), listed.tenant`,
  )
  const nextOfTenant = database.writeStatement<ConversationRow>(
    'SELECT * FROM conversations WHERE tenant = ? AND free_at <= ? ORDER BY free_at LIMIT 1',
  )
  const runningOfTenant = database.writeStatement<{ count: number }>(
    'SELECT count(*) AS count FROM conversations WHERE tenant = ?1 AND free_at > ?2 AND free_at <= ?3 AND lease_expires_at > ?2',
  )
  const noteServed = database.writeStatement(
    'INSERT INTO tenants (tenant, last_served) VALUES (?1, ?2) ON CONFLICT (tenant) DO UPDATE SET last_served = ?2',
  )
  const nextTime = database.writeStatement<{ at: string | null }>('SELECT min(free_at) AS at FROM conversations WHERE free_at > ?')
  const leased = database.writeStatement<ConversationRow>(
    'SELECT * FROM conversations WHERE free_at > ? AND free_at <= ? AND owner_id IS NOT NULL GROUP BY owner_id',
  )
  const endLeases = database.writeStatement(
    `UPDATE conversations SET owner_id = NULL, owner_host = NULL, owner_pid = NULL, owner_started_at = NULL, owner_boot_id = NULL,
     owner_pid_ns = NULL, owner_epoch = NULL, lease_expires_at = NULL WHERE free_at > ? AND free_at <= ? AND owner_id = ?`,
  )
  const backlogOf = database.readStatement<{ count: number }>(
    `SELECT coalesce(sum(count), 0) AS count FROM
     (SELECT coalesce(offers, 1) AS count FROM conversations WHERE tenant = ? AND free_at <= ? LIMIT ?)`,
  )
  const counts = database.readStatement<WorkCounts>(
    `SELECT (SELECT count(*) FROM conversations WHERE free_at <= ?1) AS waiting,
       (SELECT min(free_at) FROM conversations WHERE free_at <= ?1 AND free_at > '') AS firstWaiting,
       (SELECT count(*) FROM conversations WHERE free_at > ?1 AND free_at <= ?2 AND lease_expires_at > ?1) AS running,
       (SELECT min(lease_expires_at) FROM conversations WHERE free_at > ?1 AND free_at <= ?2 AND lease_expires_at > ?1) AS firstLease,
       (SELECT count(*) FROM conversations WHERE parked_at IS NOT NULL) AS parked`,
  )

  function claimOf(tenant: string, owner: Owner, limits: WorkLimits, now: string): Claim | undefined {
    const { runningPerTenant = Number.POSITIVE_INFINITY } = limits
    const running =
      runningPerTenant === Number.POSITIVE_INFINITY ? 0 : (runningOfTenant.get(tenant, now, later(now, MAX_FREE_AT_MS))?.count ?? 0)
    if (running >= runningPerTenant) return undefined
    for (;;) {
      const row = nextOfTenant.get(tenant, now)
      if (!row) return undefined
      const attempts = attemptsAtClaim(row, now, limits)
      conversations.writeAttempts(row.key, attempts)
      if (attempts.parked_at !== null) continue
      const { epoch, expiresAt } = conversations.newLease(row.id, owner, now)
      noteServed.run(tenant, epoch)
      // a lease with an owner has an end
      return { conversationId: row.id, ownerId: owner.id, epoch, expiresAt: expiresAt as string, found: foundIn(row) }
    }
  }

  function claimReady(owner: Owner, limits: WorkLimits, now: string): Claim | undefined {
    for (const { tenant } of readyTenants.all(now)) {
      if (limits.leftOut?.includes(tenant)) continue
      const claim = claimOf(tenant, owner, limits, now)
      if (claim) return claim
    }
    return undefined
  }

  /** Ends the leases of processes on this machine that are dead. Returns whether a lease was ended. */
  function freeDeadOwners(asker: Owner, now: string): boolean {
    const range = [now, later(now, MAX_FREE_AT_MS)] as const
    const dead = leased.all(...range).flatMap((row) => {
      const { owner } = leaseOf(row)
      return owner && owner.id !== asker.id && isProvenDead(owner, asker, findProcess) ? [owner.id] : []
    })
    return dead.map((id) => endLeases.run(...range, id)).some((freed) => freed > 0)
  }

  return {
    claimNext: (owner, limits) =>
      database.writeTogether(() => {
        const now = clock.now()
        const claim = claimReady(owner, limits, now) ?? (freeDeadOwners(owner, now) ? claimReady(owner, limits, now) : undefined)
        return claim ? { claim } : nothingBefore(nextTime.get(now)?.at, now)
      }),

    retry: (conversationId) =>
      database.writeTogether(() => {
        const row = conversations.find(conversationId)
        if (!row || (row.parked_at === null && row.failure === null)) return false
        conversations.writeAttempts(row.key, noAttempts)
        onFree(conversationId)
        return true
      }),

    backlog: async (conversationId, atMost) =>
      database.read(() => backlogOf.get(tenantOfKey(conversationId), clock.now(), atMost)?.count ?? 0),

    async summary() {
      const now = clock.now()
      return summaryOf(database.read(() => counts.get(now, later(now, MAX_FREE_AT_MS))) as WorkCounts, now) // the statement returns one row
    },
  }
}
