import { knownChangeTypes } from '../../../core/timeline/parse-change.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { WorkLimits, WorkList } from '../../../ports/store/work-list.ts'
import { type Claim, LEASE_MS, type Owner } from '../../../ports/store.ts'
import { type ConversationRow, foundIn, leaseOf } from '../shared/conversation-row.ts'
import { leaseExpiry } from '../shared/lease.ts'
import { findProcess, isProvenDead } from '../shared/owner-death.ts'
import { type Attempts, attemptsAtClaim, later, nothingBefore, summaryOf, type WorkCounts } from '../shared/work.ts'
import { isStorableId, ownerValues, ROW, TENANT_OF } from './conversations.ts'
import type { Database, Queries } from './database.ts'

/** How often a process looks for dead processes of its machine, whose leases have not ended, in milliseconds. */
const DEAD_OWNERS_MS = 250

// The conditions below compare (tenant, free_at) as one value, so that the planner can only use the index which begins with the tenant. With the
// index by time, it would read all messages of the other tenants that came earlier.
const OF_TENANT = (tenant: string, until: string) =>
  `free_at IS NOT NULL AND (tenant, free_at) >= (${tenant}, '') AND (tenant, free_at) <= (${tenant}, ${until})`

/**
 * The tenants that have a conversation to claim at `$1`, without those in `$2`, the one first that was served least recently. It jumps from
 * tenant to tenant in the index, so it reads only the conversation of each tenant that is free first.
 */
const READY_TENANTS = `
  WITH RECURSIVE listed (tenant, free_at) AS (
    (SELECT tenant, free_at FROM conversations WHERE free_at IS NOT NULL ORDER BY tenant, free_at LIMIT 1)
    UNION ALL
    SELECT next.tenant, next.free_at FROM listed CROSS JOIN LATERAL (
      SELECT tenant, free_at FROM conversations WHERE free_at IS NOT NULL AND tenant > listed.tenant ORDER BY tenant, free_at LIMIT 1
    ) AS next
  )
  SELECT listed.tenant, last_served FROM listed LEFT JOIN tenants USING (tenant)
  WHERE listed.free_at <= $1 AND listed.tenant <> ALL ($2::text[])
  ORDER BY coalesce(last_served, 0), listed.tenant`

/** The conversation of a tenant to claim. One that another transaction has locked is skipped, and one of a newer version is left out. */
const NEXT_OF_TENANT = `
  SELECT ${ROW} FROM conversations WHERE ${OF_TENANT('$1::text', '$2::text')} AND NOT EXISTS (
    SELECT 1 FROM journal WHERE conversation = key AND type <> ALL ($3::text[])
    AND seq > coalesce((SELECT seq FROM frames WHERE conversation = key), 0))
  ORDER BY tenant, free_at LIMIT 1 FOR UPDATE SKIP LOCKED`

/** The running conversations of a tenant have leases that end within the next `LEASE_MS`, so few rows are read. */
const RUNNING_OF_TENANT = `
  SELECT count(*)::int AS count FROM (SELECT 1 FROM conversations
  WHERE tenant = $1 AND free_at > $2 AND free_at <= $3 AND lease_expires_at > $2 LIMIT $4) AS running`

const CLAIM = `
  WITH claimed AS (
    UPDATE conversations SET epoch = nextval('claims'), owner_epoch = currval('claims'), lease_expires_at = $1, attempts = $2, attempt_seq = $3,
      retry_at = $4, failure = $5, owner_id = $6, owner_host = $7, owner_pid = $8, owner_started_at = $9, owner_boot_id = $10, owner_pid_ns = $11
    WHERE key = $12 RETURNING epoch
  )
  UPDATE tenants SET last_served = epoch FROM claimed WHERE tenant = $13 RETURNING epoch`

const COUNTS = `
  SELECT (SELECT count(*) FROM conversations WHERE free_at <= $1)::int AS waiting,
    (SELECT min(free_at) FROM conversations WHERE free_at <= $1 AND free_at > '') AS "firstWaiting",
    (SELECT count(*) FROM conversations WHERE free_at > $1 AND free_at <= $2 AND lease_expires_at > $1)::int AS running,
    (SELECT min(lease_expires_at) FROM conversations WHERE free_at > $1 AND free_at <= $2 AND lease_expires_at > $1) AS "firstLease",
    (SELECT count(*) FROM conversations WHERE parked_at IS NOT NULL)::int AS parked`

/**
 * How long a process may do nothing within a claim, in milliseconds. A claim locks the row of its tenant, so a process that is frozen within one
 * would stop all claims of the tenant.
 */
const MAX_IDLE_MS = 5_000

type Attempt = Claim | 'none' | 'locked'

/**
 * The work list in PostgreSQL. `free_at` of a conversation says from when on it can be claimed: see `schema.ts`. A claim locks the row of its
 * tenant, so the number of running conversations of a tenant is exact.
 */
export function createWorkList(database: Database, clock: Pick<Clock, 'now'>, onFree: (conversationId: string) => void): WorkList {
  let lookedForDeadAt = Number.NEGATIVE_INFINITY

  /** Claims a conversation of a tenant in a transaction of its own. With `skip`, does not wait for another claim of this tenant. */
  const claimOf = (tenant: string, owner: Owner, limits: WorkLimits, lock: 'skip' | 'wait'): Promise<Attempt> =>
    database.write(async (queries) => {
      const locked = await queries.all(`SELECT 1 FROM tenants WHERE tenant = $1 FOR UPDATE ${lock === 'skip' ? 'SKIP LOCKED' : ''}`, [
        tenant,
      ])
      if (locked.length === 0) return 'locked'
      const now = clock.now()
      if (await isAtLimit(queries, tenant, now, limits)) return 'none'
      for (;;) {
        const [row] = await queries.all<ConversationRow>(NEXT_OF_TENANT, [tenant, now, knownChangeTypes()])
        if (!row) return 'none'
        const attempts = attemptsAtClaim(row, now, limits)
        if (attempts.parked_at === null) return claimRow(queries, row, owner, attempts, tenant, now)
        await queries.run('UPDATE conversations SET parked_at = $1 WHERE key = $2', [now, row.key])
      }
    }, MAX_IDLE_MS)

  async function isAtLimit(queries: Queries, tenant: string, now: string, { runningPerTenant }: WorkLimits): Promise<boolean> {
    if (runningPerTenant === undefined) return false
    const [running] = await queries.all<{ count: number }>(RUNNING_OF_TENANT, [tenant, now, later(now, LEASE_MS), runningPerTenant])
    return (running?.count ?? 0) >= runningPerTenant
  }

  async function claimRow(queries: Queries, row: ConversationRow, owner: Owner, attempts: Attempts, tenant: string, now: string) {
    const expiresAt = leaseExpiry(now)
    const { attempts: count, attempt_seq, retry_at, failure } = attempts
    const values = [expiresAt, count, attempt_seq, retry_at, failure, ...ownerValues(owner), row.key, tenant]
    const [claimed] = await queries.all<{ epoch: number }>(CLAIM, values)
    const { epoch } = claimed as { epoch: number } // both rows are locked, so they exist
    return { conversationId: row.id, ownerId: owner.id, epoch, expiresAt, found: foundIn(row) }
  }

  async function claimReady(owner: Owner, limits: WorkLimits): Promise<Claim | undefined> {
    const ready = await database.all<{ tenant: string; last_served: number | null }>(READY_TENANTS, [clock.now(), limits.leftOut ?? []])
    const unknown = ready.filter(({ last_served }) => last_served === null).map(({ tenant }) => tenant)
    if (unknown.length > 0)
      await database.repeat((queries) =>
        queries.run('INSERT INTO tenants SELECT unnest($1::text[]), 0 ORDER BY 1 ON CONFLICT DO NOTHING', [unknown]),
      )
    const locked: string[] = []
    for (const { tenant } of ready) {
      const claim = await claimOf(tenant, owner, limits, 'skip')
      if (typeof claim === 'object') return claim
      if (claim === 'locked') locked.push(tenant)
    }
    for (const tenant of locked) {
      const claim = await claimOf(tenant, owner, limits, 'wait')
      if (typeof claim === 'object') return claim
    }
    return undefined
  }

  /** Ends the leases of processes on this machine that are dead. Returns whether there were such leases. */
  async function freeDeadOwners(asker: Owner): Promise<boolean> {
    if (performance.now() - lookedForDeadAt < DEAD_OWNERS_MS) return false
    lookedForDeadAt = performance.now()
    const now = clock.now()
    const range = [now, later(now, LEASE_MS)]
    const owners = await database.all<ConversationRow>(
      `SELECT DISTINCT ON (owner_id) ${ROW} FROM conversations WHERE free_at > $1 AND free_at <= $2 AND owner_host = $3 ORDER BY owner_id`,
      [...range, asker.host],
    )
    const dead = owners.flatMap((row) => {
      const { owner } = leaseOf(row)
      return owner && owner.id !== asker.id && isProvenDead(owner, asker, findProcess) ? [owner.id] : []
    })
    if (dead.length === 0) return false
    const freed = await database.statements.run(
      `UPDATE conversations SET owner_id = NULL, owner_host = NULL, owner_pid = NULL, owner_started_at = NULL, owner_boot_id = NULL,
       owner_pid_ns = NULL, owner_epoch = NULL, lease_expires_at = NULL WHERE free_at > $1 AND free_at <= $2 AND owner_id = ANY ($3::text[])`,
      [...range, dead],
    )
    return freed > 0
  }

  return {
    async claimNext(owner, limits) {
      const claim = (await claimReady(owner, limits)) ?? ((await freeDeadOwners(owner)) ? await claimReady(owner, limits) : undefined)
      if (claim) return { claim }
      const now = clock.now()
      const [next] = await database.all<{ at: string | null }>('SELECT min(free_at) AS at FROM conversations WHERE free_at > $1', [now])
      return nothingBefore(next?.at, now)
    },

    async retry(conversationId) {
      if (!isStorableId(conversationId)) return false
      const changed = await database.statements.run(
        `UPDATE conversations SET attempts = 0, attempt_seq = NULL, retry_at = NULL, parked_at = NULL, failure = NULL
         WHERE id = $1 AND deleted_at IS NULL AND (parked_at IS NOT NULL OR failure IS NOT NULL)`,
        [conversationId],
      )
      if (changed > 0) onFree(conversationId)
      return changed > 0
    },

    async backlog(conversationId, atMost) {
      if (!isStorableId(conversationId)) return 0
      const [row] = await database.all<{ count: number }>(
        `SELECT coalesce(sum(count), 0)::bigint AS count FROM (SELECT coalesce(offers, 1) AS count FROM conversations
         WHERE ${OF_TENANT(TENANT_OF('$1::text'), '$2::text')} LIMIT $3) AS waiting`,
        [conversationId, clock.now(), atMost],
      )
      return row?.count ?? 0
    },

    async summary() {
      const now = clock.now()
      const [counts] = await database.all<WorkCounts>(COUNTS, [now, later(now, LEASE_MS)])
      return summaryOf(counts as WorkCounts, now) // the statement always returns one row
    },
  }
}
