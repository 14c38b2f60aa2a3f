import { knownChangeTypes } from '../../../core/timeline/parse-change.ts'
import type { ConversationInfo } from '../../../ports/store/list.ts'
import type { Claim, ClaimOptions, Owner } from '../../../ports/store.ts'
import { conversationMissing } from '../shared/conversation-info.ts'
import { type ConversationRow, checkNotDeleting, claimedRow, foundIn, infoOf, leaseOf } from '../shared/conversation-row.ts'
import { checkLeaseFree, isFree, type Lease, leaseExpiry } from '../shared/lease.ts'
import { newerEntry } from '../shared/rows.ts'
import { attemptsAtRelease } from '../shared/work.ts'
import { checkNewName, checkStorable, isStorableId, ownerValues, parseConversation, ROW } from './conversation-columns.ts'
import { type Database, type Queries, whileLost } from './database.ts'

const MAX_CACHED_ROWS = 1_024

/**
 * Rows by the id of their conversation. A cached row may be outdated, so a statement that uses a cached row compares it with the stored
 * row.
 */
function createRowCache() {
  const rows = new Map<string, ConversationRow>()
  return {
    get: (conversationId: string) => rows.get(conversationId),
    set(row: ConversationRow): void {
      if (rows.size >= MAX_CACHED_ROWS) rows.clear()
      rows.set(row.id, row)
    },
    delete: (conversationId: string) => rows.delete(conversationId),
  }
}

/** The table of conversations: leases, and the info that a list shows. */
export function createConversations(database: Database) {
  const rows = createRowCache()
  /**
   * Finds the row of a conversation, even if its deletion has begun. With `lock`, the row is locked, and other transactions that lock the
   * row wait.
   */
  async function findAny(queries: Pick<Queries, 'all'>, conversationId: string, lock = ''): Promise<ConversationRow | undefined> {
    if (!isStorableId(conversationId)) return undefined
    const [row] = await queries.all<ConversationRow>(`SELECT ${ROW} FROM conversations WHERE id = $1 ${lock}`, [conversationId])
    return row && parseConversation(row)
  }
  const existing = (row: ConversationRow | undefined) => (row?.deleted_at === null ? row : undefined)
  const find = async (queries: Pick<Queries, 'all'>, conversationId: string, lock = '') =>
    existing(await findAny(queries, conversationId, lock))
  const findCommitted = (conversationId: string) => find({ all: database.all }, conversationId)

  /** The row of a conversation, and the first entry that only a newer version of Daybook can read. */
  async function findToClaim(conversationId: string) {
    // the entries that this process has already seen need not be checked again
    const { key = null, last_seq = null } = rows.get(conversationId) ?? {}
    const [row] = await database.all<ConversationRow & { readonly newer_seq: number | null; readonly newer_type: string }>(TO_CLAIM, [
      ...[conversationId, key, last_seq, knownChangeTypes()],
    ])
    return row && { row: parseConversation(row), newer: row.newer_seq === null ? undefined : { seq: row.newer_seq, type: row.newer_type } }
  }

  async function writeLease(queries: Queries, key: number, { epoch, owner, expiresAt }: Lease): Promise<void> {
    await queries.run(
      `UPDATE conversations SET epoch = $1, owner_id = $2, owner_host = $3, owner_pid = $4, owner_started_at = $5, owner_boot_id = $6,
       owner_pid_ns = $7, owner_epoch = $8, lease_expires_at = $9 WHERE key = $10`,
      [epoch, ...ownerValues(owner), owner && epoch, expiresAt, key],
    )
  }

  /** The next epoch. All conversations share one counter. If a conversation is deleted and created again, its epochs still ascend. */
  async function newEpoch(queries: Queries): Promise<number> {
    const [row] = await queries.all<{ value: number }>(`SELECT nextval('claims') AS value`)
    return (row as { value: number }).value // the statement always returns one row
  }

  /** Finds the row and locks it. Creates it if it does not exist. */
  async function findOrCreate(queries: Queries, conversationId: string): Promise<ConversationRow> {
    const found = await findAny(queries, conversationId, LOCK)
    if (found) return found
    checkNewName(conversationId)
    const sql = `INSERT INTO conversations (id, epoch) VALUES ($1, nextval('claims')) ON CONFLICT DO NOTHING RETURNING ${ROW}`
    const [created] = await queries.all<ConversationRow>(sql, [conversationId])
    // if nothing was created, another process has created the row meanwhile
    return created ? parseConversation(created) : findOrCreate(queries, conversationId)
  }

  /** Stores that running the turns of a claim failed, unless another process has claimed the conversation since. */
  const noteFailure = (claim: Claim, now: string, result: { readonly failed: string }): Promise<void> =>
    database.repeat(async (queries) => {
      const row = await find(queries, claim.conversationId, LOCK)
      const isHeld = row?.epoch === claim.epoch && row.owner_id === claim.ownerId
      const attempts = isHeld ? attemptsAtRelease(row, now, result) : undefined
      if (!row || !attempts) return
      const { attempts: count, attempt_seq, retry_at, parked_at, failure } = attempts
      await queries.run(
        'UPDATE conversations SET attempts = $1, attempt_seq = $2, retry_at = $3, parked_at = $4, failure = $5 WHERE key = $6',
        [...[count, attempt_seq, retry_at, parked_at, failure], row.key],
      )
    })

  return {
    /** Rows as this process has last written them. With such a row, an append needs one query less. */
    rows,
    find,
    findAny,
    findCommitted,

    /** Starts a new lease, even if another owner still holds the current one. */
    async newLease(queries: Queries, key: number, owner: Owner | null, now: string): Promise<Lease> {
      const lease = { epoch: await newEpoch(queries), owner, expiresAt: owner && leaseExpiry(now) }
      await writeLease(queries, key, lease)
      return lease
    },

    /** Creates a conversation. Undefined when a conversation with this id exists. */
    async create(queries: Queries, conversationId: string, now: string): Promise<ConversationRow | undefined> {
      checkNewName(conversationId)
      const epoch = await newEpoch(queries)
      const inserted = await queries.run('INSERT INTO conversations (id, epoch) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        conversationId,
        epoch,
      ])
      const row = await findAny(queries, conversationId, LOCK)
      checkNotDeleting(conversationId, row, now)
      return inserted === 1 ? row : undefined
    },

    /** Finds the row and locks it, or creates it. Throws `conversation.busy` while the conversation is being deleted. */
    async findOrCreateExisting(queries: Queries, conversationId: string, now: string): Promise<ConversationRow> {
      checkStorable(conversationId)
      const row = await findOrCreate(queries, conversationId)
      checkNotDeleting(conversationId, row, now)
      return row
    },

    /**
     * Claims a conversation with two statements: one reads its row, and one writes the lease if the row is still the same. If this process
     * was the last to release the conversation, the row is in the cache and need not be read. If the answer to the second statement is
     * lost, the next attempt finds the lease that this statement has written, and replaces it.
     */
    async claim(
      conversationId: string,
      owner: Owner,
      now: string,
      { takeOver, forgetFailures, create }: ClaimOptions = {},
    ): Promise<Claim> {
      checkStorable(conversationId)
      const expiresAt = leaseExpiry(now)
      const lease = [...ownerValues(owner), expiresAt]
      for (let known = rows.get(conversationId); ; known = undefined) {
        const { row, newer } = (known?.owner_id === null ? { row: known } : await findToClaim(conversationId)) ?? {}
        if (!row) checkNewName(conversationId)
        checkNotDeleting(conversationId, row, now)
        if (!row && create === false) throw conversationMissing(conversationId)
        if (row && takeOver !== 'always') checkLeaseFree(conversationId, leaseOf(row), owner, now)
        if (newer) throw newerEntry(conversationId, newer.seq, newer.type)
        const [claimed] = await whileLost(() =>
          row
            ? database.statements.all<ConversationRow>(claimStatement(forgetFailures), [
                ...[...lease, row.key, row.epoch, row.owner_id, row.lease_expires_at, row.last_seq],
              ])
            : database.statements.all<ConversationRow>(CREATE_CLAIMED, [...lease, conversationId]),
        )
        if (!claimed) continue // the row was changed or created meanwhile, so it is read again
        const written = parseConversation(claimed)
        rows.set(written)
        const found = { ...foundIn(row), offers: written.offers ?? 0 }
        return { conversationId, ownerId: owner.id, epoch: written.epoch, expiresAt, found }
      }
    },

    async findOwner(conversationId: string, asker: Owner, now: string): Promise<Owner | undefined> {
      const row = await findCommitted(conversationId)
      const lease = row && leaseOf(row)
      return lease === undefined || isFree(lease, asker, now) ? undefined : (lease.owner ?? undefined)
    },

    async renew(claim: Claim, now: string): Promise<void> {
      const sql = 'UPDATE conversations SET lease_expires_at = $1 WHERE id = $2 AND epoch = $3 AND owner_id = $4 AND deleted_at IS NULL'
      const values = [leaseExpiry(now), claim.conversationId, claim.epoch, claim.ownerId]
      const renewed = isStorableId(claim.conversationId) ? await whileLost(() => database.statements.run(sql, values)) : 0
      if (renewed === 0) claimedRow(claim, await findCommitted(claim.conversationId)) // throws
    },

    /**
     * Ends a lease, and returns the row if it is in the cache. The commit is not synced to the disk: if a crash of the server loses it, the
     * lease stays until it expires, which does no harm.
     */
    async release(
      claim: Claim,
      now: string,
      result?: 'done' | { readonly failed: string },
    ): Promise<{ readonly hasWork: boolean; readonly row?: ConversationRow }> {
      if (!isStorableId(claim.conversationId)) return { hasWork: false }
      if (typeof result === 'object') await noteFailure(claim, now, result)
      const forget = result === 'done' ? `, ${FORGET_FAILURES}` : ''
      const released = await whileLost(() =>
        database.statements.all<{ free_at: string | null }>(
          `UPDATE conversations SET ${END_LEASE}${forget}
           WHERE id = $1 AND epoch = $2 AND owner_id = $3 AND deleted_at IS NULL AND set_config('synchronous_commit', 'off', true) = 'off'
           RETURNING free_at`,
          [claim.conversationId, claim.epoch, claim.ownerId],
        ),
      )
      const hasWork = released.some(({ free_at }) => free_at !== null && free_at <= now)
      const known = rows.get(claim.conversationId)
      if (released.length === 0 || known?.epoch !== claim.epoch) return { hasWork }
      const row = { ...known, ...NO_OWNER }
      rows.set(row)
      return { hasWork, row }
    },

    async head(conversationId: string): Promise<ConversationInfo | undefined> {
      const row = await findCommitted(conversationId)
      return row && infoOf(row)
    },
  }
}

/** Finds an entry that only a newer version of Daybook can read. */
export async function findNewerEntry(queries: Queries, key: number): Promise<{ readonly seq: number; readonly type: string } | undefined> {
  const sql = 'SELECT seq, type FROM journal WHERE conversation = $1 AND type <> ALL ($2::text[]) ORDER BY seq LIMIT 1'
  const [found] = await queries.all<{ seq: number; type: string }>(sql, [key, knownChangeTypes()])
  return found
}

const FORGET_FAILURES = 'attempts = 0, attempt_seq = NULL, retry_at = NULL, parked_at = NULL, failure = NULL'
const NO_OWNER = {
  ...{ owner_id: null, owner_host: null, owner_pid: null, owner_started_at: null, owner_boot_id: null, owner_pid_ns: null },
  ...{ owner_epoch: null, lease_expires_at: null },
}
export const END_LEASE = `${Object.keys(NO_OWNER).join(' = NULL, ')} = NULL`

/**
 * Selects the row of the conversation $1. Among the entries that loading would read, also selects the first entry that only a newer version
 * of Daybook can read. A conversation with such an entry is not claimed, because a process of the newer version has to run it. If the
 * conversation has the key $2, its entries up to $3 were checked before.
 */
const TO_CLAIM = `
  SELECT ${ROW}, newer.seq AS newer_seq, newer.type AS newer_type FROM conversations LEFT JOIN LATERAL (
    SELECT journal.seq, journal.type FROM journal WHERE conversation = key AND type <> ALL ($4::text[])
    AND journal.seq > CASE WHEN key = $2 THEN $3 ELSE coalesce((SELECT frames.seq FROM frames WHERE conversation = key), 0) END
    ORDER BY journal.seq LIMIT 1
  ) AS newer ON true WHERE id = $1`

const claimStatement = (forgetFailures: true | undefined): string => `
  UPDATE conversations SET epoch = nextval('claims'), owner_epoch = currval('claims'), owner_id = $1, owner_host = $2, owner_pid = $3,
    owner_started_at = $4, owner_boot_id = $5, owner_pid_ns = $6, lease_expires_at = $7${forgetFailures ? `, ${FORGET_FAILURES}` : ''}
  WHERE key = $8 AND epoch = $9 AND owner_id IS NOT DISTINCT FROM $10 AND lease_expires_at IS NOT DISTINCT FROM $11 AND last_seq = $12
    AND deleted_at IS NULL RETURNING ${ROW}`

const CREATE_CLAIMED = `
  INSERT INTO conversations (epoch, owner_epoch, owner_id, owner_host, owner_pid, owner_started_at, owner_boot_id, owner_pid_ns,
    lease_expires_at, id)
  SELECT next.epoch, next.epoch, $1, $2, $3, $4, $5, $6, $7, $8 FROM (SELECT nextval('claims') AS epoch) AS next
  ON CONFLICT DO NOTHING RETURNING ${ROW}`

/** Locks the selected rows until the transaction ends. */
export const LOCK = 'FOR UPDATE'

export type Conversations = ReturnType<typeof createConversations>
