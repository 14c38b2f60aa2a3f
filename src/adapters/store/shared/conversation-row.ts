import type { Wait } from '../../../core/timeline/change.ts'
import type { ConversationInfo } from '../../../ports/store/list.ts'
import { NO_REASON } from '../../../ports/store/work-list.ts'
import type { Claim, FoundConversation, Owner } from '../../../ports/store.ts'
import { beingDeleted, type InfoFields } from './conversation-info.ts'
import { checkClaim, type Lease } from './lease.ts'

/** A row of the table `conversations`. */
export interface ConversationRow {
  readonly key: number
  readonly id: string
  readonly title: string | null
  readonly started_at: string | null
  /** The time of the last entry, by which lists are sorted. While a turn runs, `active_at` may have a later time: see `lastActivityOf`. */
  readonly last_activity_at: string
  /** The time of the last entry of a running turn. The store in memory does not have it. */
  readonly active_at?: string | null
  readonly open_turn: string | null
  /** The event ids of waiting followups as a JSON list. Null when no followup waits. */
  readonly waiting: string | null
  /** How many offers were not taken. Null when there are no such offers. Only the functions of `offers.ts` write this column. */
  readonly offers: number | null
  /** What the open turn waits for, as a JSON list; null when it waits for nothing. */
  readonly waits: string | null
  /** The time from which a turn that waits has work. */
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
  /** How often the conversation was claimed by `claimNext` since an attempt succeeded: see `shared/work.ts`. */
  readonly attempts: number
  /** `last_seq` at the last attempt. If `last_seq` is the same at the next attempt, the previous attempt has failed. */
  readonly attempt_seq: number | null
  /** Before this time, `claimNext` leaves the conversation out. */
  readonly retry_at: string | null
  readonly parked_at: string | null
  /** Why the last attempt failed. */
  readonly failure: string | null
  /** The time of the oldest offer that was not taken. */
  readonly offered_at: string | null
  /**
   * When the deletion of the conversation began. Rows in which this column is set are visible only to the functions that delete
   * conversations.
   */
  readonly deleted_at: string | null
}

export function checkNotDeleting(conversationId: string, row: ConversationRow | undefined, now: string): void {
  if (row && row.deleted_at !== null) throw beingDeleted(conversationId, row.lease_expires_at ?? now)
}

/**
 * Returns the row if `claim` is still the latest claim. Otherwise throws `conversation.superseded`. Throws `conversation.missing` if `row`
 * is undefined.
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

/**
 * The state of the conversation that a claim has found. `row` is the row before the claim. Undefined when the claim has created the
 * conversation.
 */
export const foundIn = (row: ConversationRow | undefined): FoundConversation => ({
  epoch: row?.epoch ?? 0,
  lastSeq: row?.last_seq ?? 0,
  offers: row?.offers ?? 0,
})

/** The time of the last entry. `''` while the journal is empty. */
export const lastActivityOf = (row: ConversationRow): string => (isListedEarlier(row) ? row.active_at : row.last_activity_at)

/** Whether the row of a running turn still has the place in lists that it had before its last entries. */
const isListedEarlier = (row: ConversationRow): row is ConversationRow & { readonly active_at: string } =>
  (row.active_at ?? '') > row.last_activity_at && row.open_turn !== null && row.waits === null

/** SQL that is true for rows whose place in lists is older than their last entry: see `lastActivityOf`. */
export const LISTED_EARLIER = "(coalesce(active_at, '') > last_activity_at AND open_turn IS NOT NULL AND waits IS NULL)"

/** The place of a conversation in lists. */
export const placeOf = (row: ConversationRow) => ({ activity: lastActivityOf(row), id: row.id })

/**
 * Whether an append leaves `last_activity_at` unchanged although the append has a later time. While a turn runs, the later time is in
 * `active_at`, and lists are sorted by `active_at`.
 */
export const keepsPlace = (row: ConversationRow, next: ConversationRow): boolean =>
  row.last_activity_at !== '' && next.open_turn !== null && next.waits === null && next.last_activity_at >= row.last_activity_at

/** Whether an append belongs to a running turn, and changes no value that lists show except the time of the last activity. */
export const goesOnWithTurn = (row: ConversationRow, next: ConversationRow): boolean =>
  row.open_turn !== null &&
  keepsPlace(row, next) &&
  (['title', 'started_at', 'open_turn', 'waiting', 'waits', 'due_at'] as const).every((column) => row[column] === next[column])

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
    lastActivityAt: lastActivityOf(row) || null,
    lastSeq: row.last_seq,
    openTurn: row.open_turn,
    waiting: row.waiting === null ? [] : (JSON.parse(row.waiting) as readonly string[]), // only Daybook writes this column
    offers: row.offers ?? 0,
    waits: row.waits === null ? [] : (JSON.parse(row.waits) as readonly Wait[]),
    dueAt: row.due_at,
    ...(row.parked_at !== null && { parked: { at: row.parked_at, attempts: row.attempts, reason: row.failure ?? NO_REASON } }),
  }
}
