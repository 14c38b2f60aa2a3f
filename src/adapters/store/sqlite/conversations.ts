import type { ConversationInfo } from '../../../ports/store/list.ts'
import type { Claim, ClaimOptions, Owner } from '../../../ports/store.ts'
import { checkConversationName, conversationMissing } from '../shared/conversation-info.ts'
import {
  type ConversationRow,
  checkNotDeleting,
  claimedRow,
  foundIn,
  goesOnWithTurn,
  infoOf,
  keepsPlace,
  leaseOf,
} from '../shared/conversation-row.ts'
import { checkLeaseFree, isFree, type Lease, leaseExpiry } from '../shared/lease.ts'
import { type Attempts, attemptsAtRelease, noAttempts } from '../shared/work.ts'
import type { Database } from './database.ts'

/**
 * The columns of `ConversationRow`. The table also has computed columns. They are left out, because computing them would take most of the
 * time of a query.
 */
const COLUMNS = `key, id, title, started_at, last_activity_at, active_at, open_turn, waiting, offers, waits, due_at, last_seq, indexed_seq,
  next_block, epoch, owner_id, owner_host, owner_pid, owner_started_at, owner_boot_id, owner_pid_ns, owner_epoch, lease_expires_at, attempts,
  attempt_seq, retry_at, parked_at, failure, offered_at, deleted_at`

/** The table of conversations: leases, and the info that a list shows. Call the functions that modify it inside `database.write`. */
export function createConversations(database: Database) {
  const byId = database.writeStatement<ConversationRow>(`SELECT ${COLUMNS} FROM conversations WHERE id = ?`)
  const committedById = database.readStatement<ConversationRow>(`SELECT ${COLUMNS} FROM conversations WHERE id = ? AND deleted_at IS NULL`)
  const nextEpoch = database.writeStatement<{ value: number }>(
    "UPDATE counters SET value = value + 1 WHERE name = 'claims' RETURNING value",
  )
  const insert = database.writeStatement('INSERT INTO conversations (id, epoch) VALUES (?, ?)')
  const setLease = database.writeStatement(
    `UPDATE conversations SET epoch = ?, owner_id = ?, owner_host = ?, owner_pid = ?, owner_started_at = ?, owner_boot_id = ?,
     owner_pid_ns = ?, owner_epoch = ?, lease_expires_at = ?
     WHERE id = ?`,
  )
  // this statement sets no column that is in an index of lists: SQLite writes an index if one of its columns is set, even to the same value
  const setProgress = database.writeStatement(
    `UPDATE conversations SET active_at = ?, last_seq = ?, indexed_seq = ?, next_block = ?
     WHERE key = ? AND epoch = ? AND owner_id IS ? AND last_seq = ?`,
  )
  const setInfo = (activity: string) =>
    database.writeStatement(
      `UPDATE conversations SET title = ?, started_at = ?, open_turn = ?, waiting = ?, waits = ?, due_at = ?,
       last_seq = ?, indexed_seq = ?, next_block = ?, ${activity}
       WHERE key = ? AND epoch = ? AND owner_id IS ? AND last_seq = ?`,
    )
  const setInfoAndPlace = setInfo('last_activity_at = ?, active_at = NULL')
  const setInfoInPlace = setInfo('active_at = ?')

  const setAttempts = database.writeStatement(
    'UPDATE conversations SET attempts = ?, attempt_seq = ?, retry_at = ?, parked_at = ?, failure = ? WHERE key = ?',
  )

  /** Finds the row of a conversation, even if its deletion has begun. */
  const findAny = (conversationId: string) => (conversationId.isWellFormed() ? byId.get(conversationId) : undefined)
  const find = (conversationId: string) => {
    const row = findAny(conversationId)
    return row?.deleted_at === null ? row : undefined
  }
  /** Reads the row outside of a transaction, as it was last committed. */
  const findCommitted = (conversationId: string) =>
    conversationId.isWellFormed() ? database.read(() => committedById.get(conversationId)) : undefined

  function writeLease(conversationId: string, { epoch, owner, expiresAt }: Lease): void {
    const { id, host, pid, startedAt, bootId, pidNs }: Partial<Owner> = owner ?? {}
    const values = [id, host, pid, startedAt, bootId, pidNs].map((value) => value ?? null)
    setLease.run(epoch, ...values, owner && epoch, expiresAt, conversationId)
  }

  /**
   * Returns the next epoch. All conversations share one counter. If a conversation is deleted and created again, its epochs still ascend.
   */
  const newEpoch = () => (nextEpoch.get() as { value: number }).value // the schema creates the counter

  const writeAttempts = (key: number, { attempts, attempt_seq, retry_at, parked_at, failure }: Attempts): void =>
    void setAttempts.run(attempts, attempt_seq, retry_at, parked_at, failure, key)

  return {
    find,

    findAny,

    writeAttempts,

    findCommitted,

    /** Starts a new lease, even if another owner still holds the current one. */
    newLease(conversationId: string, owner: Owner | null, now: string): Lease {
      const lease = { epoch: newEpoch(), owner, expiresAt: owner && leaseExpiry(now) }
      writeLease(conversationId, lease)
      return lease
    },

    create(conversationId: string, now: string): ConversationRow {
      checkNotDeleting(conversationId, findAny(conversationId), now)
      insert.run(conversationId, newEpoch())
      return find(conversationId) as ConversationRow // the row was just inserted
    },

    claim(conversationId: string, owner: Owner, now: string, { takeOver, forgetFailures, create }: ClaimOptions = {}): Claim {
      checkConversationName(conversationId)
      const known = findAny(conversationId)
      checkNotDeleting(conversationId, known, now)
      if (!known && create === false) throw conversationMissing(conversationId)
      if (known && takeOver !== 'always') checkLeaseFree(conversationId, leaseOf(known), owner, now)
      const epoch = newEpoch()
      const expiresAt = leaseExpiry(now)
      if (!known) insert.run(conversationId, epoch)
      writeLease(conversationId, { epoch, owner, expiresAt })
      if (forgetFailures && known && known.attempts > 0) writeAttempts(known.key, noAttempts)
      return { conversationId, ownerId: owner.id, epoch, expiresAt, found: foundIn(known) }
    },

    findOwner(conversationId: string, asker: Owner, now: string): Owner | undefined {
      const row = findCommitted(conversationId)
      const lease = row && leaseOf(row)
      return lease === undefined || isFree(lease, asker, now) ? undefined : (lease.owner ?? undefined)
    },

    renew(claim: Claim, now: string): void {
      const row = claimedRow(claim, find(claim.conversationId))
      writeLease(claim.conversationId, { ...leaseOf(row), expiresAt: leaseExpiry(now) })
    },

    release(claim: Claim, now: string, result?: 'done' | { readonly failed: string }): void {
      const known = find(claim.conversationId)
      if (known?.epoch !== claim.epoch || known.owner_id !== claim.ownerId) return
      writeLease(claim.conversationId, { epoch: claim.epoch, owner: null, expiresAt: null })
      const attempts = attemptsAtRelease(known, now, result)
      if (attempts && (attempts !== noAttempts || known.attempts > 0)) writeAttempts(known.key, attempts)
    },

    /**
     * Replaces `row` by `next`, and returns the row as it is stored. If a claim or an append has changed the stored row since `row` was
     * read, it writes nothing and returns undefined.
     */
    replaceIfUnchanged(row: ConversationRow, next: ConversationRow): ConversationRow | undefined {
      const { title, started_at, last_activity_at: active_at, open_turn, waiting, waits, due_at, last_seq, indexed_seq, next_block } = next
      const unchanged = [row.key, row.epoch, row.owner_id, row.last_seq]
      if (goesOnWithTurn(row, next)) {
        const isWritten = setProgress.run(active_at, last_seq, indexed_seq, next_block, ...unchanged) === 1
        return isWritten ? { ...next, last_activity_at: row.last_activity_at, active_at } : undefined
      }
      const values = [title, started_at, open_turn, waiting, waits, due_at, last_seq, indexed_seq, next_block, active_at, ...unchanged]
      if (!keepsPlace(row, next)) return setInfoAndPlace.run(...values) === 1 ? { ...next, active_at: null } : undefined
      return setInfoInPlace.run(...values) === 1 ? { ...next, last_activity_at: row.last_activity_at, active_at } : undefined
    },

    head(conversationId: string): ConversationInfo | undefined {
      const row = findCommitted(conversationId)
      return row && infoOf(row)
    },
  }
}

export type Conversations = ReturnType<typeof createConversations>
