import { knownChangeTypes } from '../../../core/timeline/parse-change.ts'
import type { Clock } from '../../../ports/clock.ts'
import { retryPauseMs, type WorkLimits, type WorkList } from '../../../ports/store/work-list.ts'
import { type Claim, LEASE_MS, type Owner } from '../../../ports/store.ts'
import { type ConversationRow, foundIn, leaseOf } from '../shared/conversation-row.ts'
import { leaseExpiry } from '../shared/lease.ts'
import { findProcess, isProvenDead } from '../shared/owner-death.ts'
import { later, MAX_FREE_AT_MS, nothingBefore, PAUSES, summaryOf, type WorkCounts } from '../shared/work.ts'
import { isStorableId, ownerValues, parseConversation, ROW, TENANT_OF } from './conversation-columns.ts'
import { type Conversations, END_LEASE } from './conversations.ts'
import { type Database, type Queries, SHARED_ROW_IDLE_MS } from './database.ts'

/** How often a process looks for dead processes on its machine whose leases have not ended, in milliseconds. */
const DEAD_OWNERS_MS = 250

// The conditions below compare (tenant, free_at) as one value, so that the planner can only use the index which begins with the tenant.
// With the index by time, it would read all conversations of other tenants that became free earlier.
const OF_TENANT = (tenant: string, until: string) =>
  `free_at IS NOT NULL AND (tenant, free_at) >= (${tenant}, '') AND (tenant, free_at) <= (${tenant}, ${until})`

/**
 * SQL that selects the tenants with a conversation that can be claimed at the time `$1`, except the tenants in `$2`. The tenant that was
 * served least recently comes first. The query jumps from tenant to tenant in the index. For each tenant, it reads only the conversation
 * that can be claimed first.
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

/**
 * SQL that selects a conversation of the tenant `$1` that can be claimed at the time `$2`. It leaves out conversations that another
 * transaction has locked, and conversations with entries of a newer version of Daybook.
 */
const claimable = (condition: string) => `
  SELECT key, epoch AS found_epoch, CASE WHEN attempt_seq = last_seq THEN attempts ELSE 0 END AS failed
  FROM conversations WHERE ${OF_TENANT('$1::text', '$2::text')} AND ${condition} AND NOT EXISTS (
    SELECT 1 FROM journal WHERE conversation = key AND type <> ALL ($3::text[])
    AND seq > coalesce((SELECT seq FROM frames WHERE conversation = key), 0))
  ORDER BY tenant, free_at LIMIT 1 FOR UPDATE SKIP LOCKED`

/**
 * Claims the next conversation of a tenant, or parks it if `$4` attempts have failed. Turns that were interrupted are claimed before
 * messages that wait. The attempts are counted in the same way as in `attemptsAtClaim`. `$5` is a list of times: the end of the pause after
 * 1, 2, … attempts. The last time is used for all further attempts. The commit need not be synced to the disk: if the server crashes and
 * loses the claim, the claimant can not append either.
 */
const CLAIM_NEXT = `
  WITH interrupted AS (${claimable('open_turn IS NOT NULL AND waits IS NULL')}),
  waiting AS (${claimable('NOT EXISTS (SELECT 1 FROM interrupted)')}),
  next AS (SELECT * FROM interrupted UNION ALL SELECT * FROM waiting),
  parked AS (UPDATE conversations SET parked_at = $2 FROM next WHERE conversations.key = next.key AND failed >= $4 RETURNING conversations.key),
  claimed AS (
    UPDATE conversations SET epoch = nextval('claims'), owner_epoch = currval('claims'), lease_expires_at = $6, attempts = failed + 1,
      attempt_seq = last_seq, retry_at = ($5::text[])[least(failed + 1, cardinality($5::text[]))], failure = CASE WHEN failed > 0 THEN failure END,
      owner_id = $7, owner_host = $8, owner_pid = $9, owner_started_at = $10, owner_boot_id = $11, owner_pid_ns = $12
    FROM next WHERE conversations.key = next.key AND failed < $4 RETURNING found_epoch, ${ROW.replace(/\w+/g, 'conversations.$&')}
  ),
  served AS (
    UPDATE tenants SET last_served = (SELECT epoch FROM claimed) WHERE tenant IN (
      SELECT tenant FROM tenants WHERE tenant = $1 AND EXISTS (SELECT 1 FROM claimed) FOR UPDATE SKIP LOCKED) -- a claim that has locked it notes it, too
  )
  SELECT claimed.*, EXISTS (SELECT 1 FROM parked) AS parked
  FROM (SELECT set_config('synchronous_commit', 'off', true) AS synced) AS setting LEFT JOIN claimed ON synced = 'off'`

/**
 * SQL that counts the running conversations of the tenant `$1`, up to `$4`. `$3` is `MAX_FREE_AT_MS` after the time `$2`. The limits of
 * `free_at` keep the number of rows small that are read, with each of the two indexes that begin with `tenant` or `free_at`.
 */
const RUNNING_OF_TENANT = `
  SELECT count(*)::int AS count FROM (SELECT 1 FROM conversations
  WHERE tenant = $1 AND free_at > $2 AND free_at <= $3 AND lease_expires_at > $2 LIMIT $4) AS running`

/** SQL that selects the time at which the next conversation becomes free. `min` could read all later times, `LIMIT` reads one. */
const NEXT_FREE = 'SELECT free_at AS at FROM conversations WHERE free_at > $1 ORDER BY free_at LIMIT 1'

/** SQL that counts conversations for metrics. `$2` is `MAX_FREE_AT_MS` after the time `$1`. */
const COUNTS = `
  SELECT (SELECT count(*) FROM conversations WHERE free_at <= $1)::int AS waiting,
    (SELECT min(free_at) FROM conversations WHERE free_at <= $1 AND free_at > '') AS "firstWaiting",
    (SELECT count(*) FROM conversations WHERE free_at > $1 AND free_at <= $2 AND lease_expires_at > $1)::int AS running,
    (SELECT min(lease_expires_at) FROM conversations WHERE free_at > $1 AND free_at <= $2 AND lease_expires_at > $1) AS "firstLease",
    (SELECT count(*) FROM conversations WHERE parked_at IS NOT NULL)::int AS parked`

type Attempt = Claim | 'none' | 'locked'

/**
 * The work list in PostgreSQL. `free_at` of a conversation is the time from which it can be claimed: see `schema.ts`. A claim is one
 * statement. If the number of running conversations of a tenant is limited, the claim first locks the row of the tenant, so that the limit
 * is never exceeded.
 */
export function createWorkList(
  database: Database,
  { rows: cachedRows }: Pick<Conversations, 'rows'>,
  clock: Pick<Clock, 'now'>,
  onFree: (conversationId: string) => void,
): WorkList {
  let lookedForDeadAt = Number.NEGATIVE_INFINITY

  /**
   * Claims a conversation of a tenant. If the number of running conversations of the tenant is limited, only one claim at a time is
   * possible. If another claim is being made then, the function waits for it, or with `skip` returns `locked`.
   */
  async function claimOf(tenant: string, owner: Owner, limits: WorkLimits, lock: 'skip' | 'wait'): Promise<Attempt> {
    const { runningPerTenant } = limits
    if (runningPerTenant === undefined) return claimNextOf(database.statements, tenant, owner, limits)
    return database.write(async (queries) => {
      const locked = await queries.all(`SELECT 1 FROM tenants WHERE tenant = $1 FOR UPDATE ${lock === 'skip' ? 'SKIP LOCKED' : ''}`, [
        tenant,
      ])
      if (locked.length === 0) return 'locked'
      const now = clock.now()
      const values = [tenant, now, later(now, MAX_FREE_AT_MS), runningPerTenant]
      const [running] = await queries.all<{ count: number }>(RUNNING_OF_TENANT, values)
      return (running?.count ?? 0) >= runningPerTenant ? 'none' : claimNextOf(queries, tenant, owner, limits)
    }, SHARED_ROW_IDLE_MS)
  }

  async function claimNextOf(queries: Queries, tenant: string, owner: Owner, { maxAttempts }: WorkLimits): Promise<Claim | 'none'> {
    for (;;) {
      const now = clock.now()
      const expiresAt = leaseExpiry(now)
      const retryAt = Array.from({ length: PAUSES }, (_, failed) => later(now, retryPauseMs(failed + 1)))
      const values = [tenant, now, knownChangeTypes(), maxAttempts, retryAt, expiresAt, ...ownerValues(owner)]
      const [answer] = await queries.all<ConversationRow & { readonly found_epoch: number; readonly parked: boolean }>(CLAIM_NEXT, values)
      const { found_epoch, parked, ...claimed } = answer as NonNullable<typeof answer> // the statement returns one row
      if (claimed.key === null) {
        if (parked) continue
        return 'none'
      }
      const row = parseConversation(claimed)
      cachedRows.set(row)
      return { conversationId: row.id, ownerId: owner.id, epoch: row.epoch, expiresAt, found: foundIn({ ...row, epoch: found_epoch }) }
    }
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

  /**
   * Ends the leases of processes on this machine that are dead. Returns whether a lease was ended. Conversations that can not be claimed
   * after that, because they have to pause, are included only if the running conversations of a tenant are limited.
   */
  async function freeDeadOwners(asker: Owner, { runningPerTenant }: WorkLimits): Promise<boolean> {
    if (performance.now() - lookedForDeadAt < DEAD_OWNERS_MS) return false
    lookedForDeadAt = performance.now()
    const now = clock.now()
    const range = [now, later(now, runningPerTenant === undefined ? LEASE_MS : MAX_FREE_AT_MS)]
    const owners = await database.all<ConversationRow>(
      `SELECT DISTINCT ON (owner_id) ${ROW} FROM conversations WHERE free_at > $1 AND free_at <= $2 AND owner_host = $3 ORDER BY owner_id`,
      [...range, asker.host],
    )
    const dead = owners.flatMap((row) => {
      const { owner } = leaseOf(row)
      return owner && owner.id !== asker.id && isProvenDead(owner, asker, findProcess) ? [owner.id] : []
    })
    if (dead.length === 0) return false
    // skips rows that another process has locked, because that process may be frozen, and all claims would wait for it. A later call frees
    // these rows
    const freed = await database.statements.run(
      `UPDATE conversations SET ${END_LEASE} WHERE key IN (
         SELECT key FROM conversations WHERE free_at > $1 AND free_at <= $2 AND owner_id = ANY ($3::text[]) FOR UPDATE SKIP LOCKED)`,
      [...range, dead],
    )
    return freed > 0
  }

  return {
    async claimNext(owner, limits) {
      const claim =
        (await claimReady(owner, limits)) ?? ((await freeDeadOwners(owner, limits)) ? await claimReady(owner, limits) : undefined)
      if (claim) return { claim }
      const now = clock.now()
      const [next] = await database.all<{ at: string }>(NEXT_FREE, [now])
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
      const [counts] = await database.all<WorkCounts>(COUNTS, [now, later(now, MAX_FREE_AT_MS)])
      return summaryOf(counts as WorkCounts, now) // the statement always returns one row
    },
  }
}
