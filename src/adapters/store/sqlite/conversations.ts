import type { Wait } from '../../../core/timeline/change.ts'
import type { Claim, ConversationInfo, Owner } from '../../../ports/store.ts'
import { beingDeleted, checkConversationName, type InfoFields } from '../shared/conversation-info.ts'
import { checkClaim, checkLeaseFree, type Lease, leaseExpiry } from '../shared/lease.ts'
import type { Database } from './database.ts'

/** A row of the table `conversations`. */
export interface ConversationRow {
  readonly key: number
  readonly id: string
  readonly title: string | null
  readonly started_at: string | null
  readonly last_activity_at: string
  readonly open_turn: string | null
  /** The event ids of waiting followups as a JSON list; null when none waits. */
  readonly waiting: string | null
  /** How many offers were not taken; null when there are none. Only the functions of `offers.ts` write it. */
  readonly offers: number | null
  /** What the open turn waits for, as a JSON list; null when it waits for nothing. */
  readonly waits: string | null
  /** From when on a turn that waits has work. */
  readonly due_at: string | null
  readonly last_seq: number
  /** The `seq` of the last entry that the index contains. Later entries are not indexed yet. */
  readonly indexed_seq: number
  /** The lowest block number that was never used. Smaller numbers must not be used again. */
  readonly next_block: number
  readonly epoch: number
  readonly owner_id: string | null
  readonly owner_host: string | null
  readonly owner_pid: number | null
  readonly owner_started_at: string | null
  readonly owner_boot_id: string | null
  readonly owner_pid_ns: string | null
  /**
   * The `epoch` at which `owner_started_at`, `owner_boot_id` and `owner_pid_ns` were written. If it differs from `epoch`, an older version
   * of Daybook took the claim. That version does not write these three columns.
   */
  readonly owner_epoch: number | null
  readonly lease_expires_at: string | null
  /** When the deletion of the conversation began. Only the functions that delete conversations see rows in which it is set. */
  readonly deleted_at: string | null
}

/** The table of conversations: leases, and the info that a list shows. Call the functions that modify it inside `database.write`. */
export function createConversations(database: Database) {
  const byId = database.writeStatement<ConversationRow>('SELECT * FROM conversations WHERE id = ?')
  const committedById = database.readStatement<ConversationRow>('SELECT * FROM conversations WHERE id = ? AND deleted_at IS NULL')
  const nextEpoch = database.writeStatement<{ value: number }>(
    "UPDATE counters SET value = value + 1 WHERE name = 'claims' RETURNING value",
  )
  const insert = database.writeStatement('INSERT INTO conversations (id, epoch) VALUES (?, ?)')
  const setLease = database.writeStatement(
    `UPDATE conversations SET epoch = ?, owner_id = ?, owner_host = ?, owner_pid = ?, owner_started_at = ?, owner_boot_id = ?,
     owner_pid_ns = ?, owner_epoch = ?, lease_expires_at = ?
     WHERE id = ?`,
  )
  const setInfo = database.writeStatement(
    `UPDATE conversations SET title = ?, started_at = ?, last_activity_at = ?, open_turn = ?, waiting = ?, waits = ?, due_at = ?,
     last_seq = ?, indexed_seq = ?, next_block = ?
     WHERE key = ? AND epoch = ? AND owner_id IS ? AND last_seq = ?`,
  )

  /** Finds the row of a conversation, also if its deletion has begun. */
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

  return {
    find,

    findAny,

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

    claim(conversationId: string, owner: Owner, now: string, takeOver: 'when-free' | 'always'): Claim {
      checkConversationName(conversationId)
      const known = findAny(conversationId)
      checkNotDeleting(conversationId, known, now)
      if (known && takeOver !== 'always') checkLeaseFree(conversationId, leaseOf(known), owner, now)
      const epoch = newEpoch()
      const expiresAt = leaseExpiry(now)
      if (!known) insert.run(conversationId, epoch)
      writeLease(conversationId, { epoch, owner, expiresAt })
      return { conversationId, ownerId: owner.id, epoch, expiresAt }
    },

    renew(claim: Claim, now: string): void {
      const row = claimedRow(claim, find(claim.conversationId))
      writeLease(claim.conversationId, { ...leaseOf(row), expiresAt: leaseExpiry(now) })
    },

    release(claim: Claim): void {
      const known = find(claim.conversationId)
      if (known?.epoch === claim.epoch && known.owner_id === claim.ownerId) {
        writeLease(claim.conversationId, { epoch: claim.epoch, owner: null, expiresAt: null })
      }
    },

    /**
     * Replaces `row` by `next`. If a claim or an append has changed the stored row since `row` was read, it writes nothing and returns
     * false.
     */
    replaceIfUnchanged(row: ConversationRow, next: ConversationRow): boolean {
      const { title, started_at, last_activity_at, open_turn, waiting, waits, due_at, last_seq, indexed_seq, next_block } = next
      const values = [title, started_at, last_activity_at, open_turn, waiting, waits, due_at, last_seq, indexed_seq, next_block]
      return setInfo.run(...values, row.key, row.epoch, row.owner_id, row.last_seq) === 1
    },

    head(conversationId: string): ConversationInfo | undefined {
      const row = findCommitted(conversationId)
      return row && infoOf(row)
    },
  }
}

export type Conversations = ReturnType<typeof createConversations>

function checkNotDeleting(conversationId: string, row: ConversationRow | undefined, now: string): void {
  if (row && row.deleted_at !== null) throw beingDeleted(conversationId, row.lease_expires_at ?? now)
}

/**
 * Returns the row if no later claim exists. Otherwise throws `conversation.superseded`, or `conversation.missing` if `row` is undefined.
 */
export function claimedRow(claim: Claim, row: ConversationRow | undefined): ConversationRow {
  checkClaim(claim, row && leaseOf(row))
  return row as ConversationRow // `checkClaim` throws if `row` is undefined
}

export function leaseOf(row: ConversationRow): Lease {
  const { owner_id: id, owner_host: host, owner_pid: pid } = row
  const owner = id === null || host === null || pid === null ? null : { id, host, pid, ...processOf(row) }
  return { epoch: row.epoch, owner, expiresAt: row.lease_expires_at }
}

/**
 * The data that identifies the process of the owner. Empty when an older version of Daybook took the claim. That version does not write
 * these columns, so they still have the values of an earlier owner.
 */
function processOf(row: ConversationRow): Pick<Owner, 'startedAt' | 'bootId' | 'pidNs'> {
  const { owner_started_at: startedAt, owner_boot_id: bootId, owner_pid_ns: pidNs } = row
  if (row.owner_epoch !== row.epoch) return {}
  return { ...(startedAt !== null && { startedAt }), ...(bootId !== null && { bootId }), ...(pidNs !== null && { pidNs }) }
}

export const withInfo = (row: ConversationRow, info: InfoFields): ConversationRow => ({
  ...row,
  title: info.title,
  started_at: info.startedAt,
  last_activity_at: info.lastActivityAt ?? '',
  open_turn: info.openTurn,
  waiting: info.waiting.length === 0 ? null : JSON.stringify(info.waiting),
  waits: info.waits.length === 0 ? null : JSON.stringify(info.waits),
  due_at: info.dueAt,
  last_seq: info.lastSeq,
})

export function infoOf(row: ConversationRow): ConversationInfo {
  return {
    conversationId: row.id,
    title: row.title,
    startedAt: row.started_at,
    lastActivityAt: row.last_activity_at === '' ? null : row.last_activity_at,
    lastSeq: row.last_seq,
    openTurn: row.open_turn,
    waiting: row.waiting === null ? [] : (JSON.parse(row.waiting) as readonly string[]), // only Daybook writes this column
    offers: row.offers ?? 0,
    waits: row.waits === null ? [] : (JSON.parse(row.waits) as readonly Wait[]),
    dueAt: row.due_at,
  }
}
