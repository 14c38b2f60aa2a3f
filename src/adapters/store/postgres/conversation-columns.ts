import { Failure } from '../../../core/failure.ts'
import type { Owner } from '../../../ports/store.ts'
import { checkConversationName } from '../shared/conversation-info.ts'
import type { ConversationRow } from '../shared/conversation-row.ts'

/** Whether a text can be the id of a conversation in PostgreSQL, which stores UTF-8 without the character U+0000. */
export const isStorableId = (id: string): boolean => id.isWellFormed() && !id.includes('\0')

/**
 * How many bytes the name of a new conversation may have. An index has the name and its folder in one row, which may have at most 2,704
 * bytes.
 */
const MAX_NAME_BYTES = 1_200

/** Throws when a conversation can not be created with this name. */
export function checkNewName(conversationId: string): void {
  checkStorable(conversationId)
  if (Buffer.byteLength(conversationId) > MAX_NAME_BYTES)
    throw new Failure(
      'change.invalid',
      `PostgreSQL can not store a conversation whose name has more than ${MAX_NAME_BYTES} bytes: use a shorter name`,
    )
}

/** The columns of `conversations` that an append writes. */
export const headColumns = [
  'title',
  'started_at',
  'last_activity_at',
  'open_turn',
  'waiting',
  'waits',
  'due_at',
  'last_seq',
  'indexed_seq',
  'next_block',
] as const

/**
 * The columns that an append of a running turn writes. No index contains one of these columns, so PostgreSQL need not update an index when
 * they change.
 */
export const progressColumns = ['active_at', 'last_seq', 'indexed_seq', 'next_block'] as const

/**
 * SQL for the columns of a row. The columns are listed by name, because a prepared statement with `*` fails after a migration has added a
 * column.
 */
export const ROW = [
  ...['key', 'id', 'offers', 'active_at', ...headColumns, 'epoch', 'deleted_at', 'lease_expires_at', 'owner_epoch'],
  ...['owner_id', 'owner_host', 'owner_pid', 'owner_started_at', 'owner_boot_id', 'owner_pid_ns'],
  ...['attempts', 'attempt_seq', 'retry_at', 'parked_at', 'failure', 'offered_at'],
].join(', ')

/** SQL for the tenant of a conversation, as the column `tenant` has it. */
export const TENANT_OF = (id: string): string =>
  `CASE WHEN length(${id}) - length(replace(${id}, '/', '')) = 3 THEN split_part(${id}, '/', 1) ELSE '' END`

/** The values of the columns `owner_id` to `owner_pid_ns`. */
export function ownerValues(owner: Owner | null): readonly (string | number | null)[] {
  const { id, host, pid, startedAt, bootId, pidNs }: Partial<Owner> = owner ?? {}
  return [id, host, pid, startedAt, bootId, pidNs].map((value) => value ?? null)
}

/** Throws when no conversation can have this name. */
export function checkStorable(conversationId: string): void {
  checkConversationName(conversationId)
  if (isStorableId(conversationId)) return
  throw new Failure('change.invalid', 'PostgreSQL can not store a conversation whose name has the character U+0000: use a name without it')
}

/** A value as its column stores it. */
export const toStoredColumn = (column: string, value: unknown): unknown => (jsonColumns.has(column) ? toJson(value) : value)

/** Columns with texts that may have the character U+0000. They are stored as JSON. */
const jsonColumns: ReadonlySet<string> = new Set(['title', 'open_turn'])
const toJson = (value: unknown) => (value === null ? null : JSON.stringify(value))
const fromJson = (value: string | null) => (value === null ? null : (JSON.parse(value) as string)) // only Daybook writes these columns

/** Converts a row of the database to the form that all stores share. */
export const parseConversation = (row: ConversationRow): ConversationRow => ({
  ...row,
  title: fromJson(row.title),
  open_turn: fromJson(row.open_turn),
})
