import type { Claim, ConversationInfo, ConversationPage, ListQuery, Owner } from '../../../ports/store.ts'
import type { InfoFields } from '../shared/conversation-list.ts'
import { checkConversationName, foldTitle, pageOf, pageSize, parseCursor } from '../shared/conversation-list.ts'
import { checkClaim, checkLeaseFree, type Lease, leaseExpiry } from '../shared/lease.ts'
import type { Database, Statement } from './database.ts'

export interface ConversationRow {
  readonly key: number
  readonly id: string
  readonly title: string | null
  readonly started_at: string | null
  readonly last_activity_at: string
  readonly open_turn: string | null
  /** Event ids as a JSON list; null when nothing waits. */
  readonly waiting: string | null
  readonly last_seq: number
  /** Entries beyond it are not in the index yet. */
  readonly indexed_seq: number
  /** Blocks below it were given their number. */
  readonly next_block: number
  readonly epoch: number
  readonly owner_id: string | null
  readonly owner_host: string | null
  readonly owner_pid: number | null
  readonly lease_expires_at: string | null
}

/** The table of conversations: who holds them, and what a list shows. Functions that change it belong inside `database.write`. */
export function createConversations(database: Database) {
  const get = database.writing<ConversationRow>('SELECT * FROM conversations WHERE id = ?')
  const committed = database.reading<ConversationRow>('SELECT * FROM conversations WHERE id = ?')
  const nextEpoch = database.writing<{ value: number }>("UPDATE counters SET value = value + 1 WHERE name = 'claims' RETURNING value")
  const insert = database.writing('INSERT INTO conversations (id, epoch) VALUES (?, ?)')
  const setLease = database.writing(
    'UPDATE conversations SET epoch = ?, owner_id = ?, owner_host = ?, owner_pid = ?, lease_expires_at = ? WHERE id = ?',
  )
  const setHead = database.writing(
    `UPDATE conversations SET title = ?, started_at = ?, last_activity_at = ?, open_turn = ?, waiting = ?, last_seq = ?, indexed_seq = ?,
     next_block = ?
     WHERE key = ? AND epoch = ? AND owner_id IS ? AND last_seq = ?`,
  )
  const lists = new Map<string, Statement<ConversationRow>>()

  const find = (conversationId: string) => (conversationId.isWellFormed() ? get.get(conversationId) : undefined)

  function hold(conversationId: string, lease: Lease): void {
    const { epoch, owner, expiresAt } = lease
    setLease.run(epoch, owner?.id ?? null, owner?.host ?? null, owner?.pid ?? null, expiresAt, conversationId)
  }

  /** Epochs are counted over the whole store, so that a deleted and remade conversation never repeats one. */
  const newEpoch = () => (nextEpoch.get() as { value: number }).value // the counter was made with the schema

  return {
    find,

    /** Outside a transaction: what is committed now. */
    peek: (conversationId: string) => (conversationId.isWellFormed() ? database.read(() => committed.get(conversationId)) : undefined),

    create(conversationId: string): ConversationRow {
      insert.run(conversationId, newEpoch())
      return find(conversationId) as ConversationRow // just made
    },

    claim(conversationId: string, owner: Owner, now: string, takeOver: 'when-free' | 'always'): Claim {
      checkConversationName(conversationId)
      const known = find(conversationId)
      if (known && takeOver !== 'always') checkLeaseFree(conversationId, leaseOf(known), owner, now)
      const epoch = newEpoch()
      const expiresAt = leaseExpiry(now)
      if (!known) insert.run(conversationId, epoch)
      hold(conversationId, { epoch, owner, expiresAt })
      return { conversationId, ownerId: owner.id, epoch, expiresAt }
    },

    renew(claim: Claim, now: string): void {
      const lease = heldRow(claim, find(claim.conversationId))
      hold(claim.conversationId, { ...leaseOf(lease), expiresAt: leaseExpiry(now) })
    },

    release(claim: Claim): void {
      const known = find(claim.conversationId)
      if (known?.epoch === claim.epoch && known.owner_id === claim.ownerId) {
        hold(claim.conversationId, { epoch: claim.epoch, owner: null, expiresAt: null })
      }
    },

    /** Puts `next` in the place of `row`. False, and nothing happens, when the row is no longer what it was. */
    advance(row: ConversationRow, next: ConversationRow): boolean {
      const { title, started_at, last_activity_at, open_turn, waiting, last_seq, indexed_seq, next_block } = next
      const head = [title, started_at, last_activity_at, open_turn, waiting, last_seq, indexed_seq, next_block]
      return setHead.run(...head, row.key, row.epoch, row.owner_id, row.last_seq) === 1
    },

    list(query: ListQuery): ConversationPage {
      const cursor = parseCursor(query.cursor)
      const size = pageSize(query)
      const wanted = foldTitle(query.search ?? '')
      const conditions = [
        ...(cursor ? ['last_activity_at <= ?', '(last_activity_at < ? OR id > ?)'] : []),
        ...(wanted === '' ? [] : ["instr(folded(coalesce(title, '')), ?) > 0"]),
        ...(query.prefix === undefined ? [] : ['substr(id, 1, length(?)) = ?']),
        ...(query.plain ? ["instr(id, '/') = 0"] : []),
        ...(query.open ? ['(open_turn IS NOT NULL OR waiting IS NOT NULL)'] : []),
      ]
      const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
      const sql = `SELECT * FROM conversations ${where} ORDER BY last_activity_at DESC, id LIMIT ?`
      const values = [
        ...(cursor ? [cursor.activity, cursor.activity, cursor.id] : []),
        ...(wanted === '' ? [] : [wanted]),
        ...(query.prefix === undefined ? [] : [query.prefix, query.prefix]),
      ]
      const found = database.read(() => {
        const statement = lists.get(sql) ?? database.reading<ConversationRow>(sql)
        lists.set(sql, statement) // one for each way to ask
        return statement.all(...values, size + 1)
      })
      return pageOf(found.map(infoOf), size)
    },
  }
}

export type Conversations = ReturnType<typeof createConversations>

/** The row, if the claim still holds it. */
export function heldRow(claim: Claim, row: ConversationRow | undefined): ConversationRow {
  checkClaim(claim, row && leaseOf(row))
  return row as ConversationRow // a claim on nothing was just refused
}

export function leaseOf(row: ConversationRow): Lease {
  const { owner_id: id, owner_host: host, owner_pid: pid } = row
  const owner = id === null || host === null || pid === null ? null : { id, host, pid }
  return { epoch: row.epoch, owner, expiresAt: row.lease_expires_at }
}

export const withInfo = (row: ConversationRow, head: InfoFields): ConversationRow => ({
  ...row,
  title: head.title,
  started_at: head.startedAt,
  last_activity_at: head.lastActivityAt ?? '',
  open_turn: head.openTurn,
  waiting: head.waiting.length === 0 ? null : JSON.stringify(head.waiting),
  last_seq: head.lastSeq,
})

const noEventIds: readonly string[] = []

export function infoOf(row: ConversationRow): ConversationInfo {
  return {
    conversationId: row.id,
    title: row.title,
    startedAt: row.started_at,
    lastActivityAt: row.last_activity_at === '' ? null : row.last_activity_at,
    lastSeq: row.last_seq,
    openTurn: row.open_turn,
    waiting: row.waiting === null ? noEventIds : (JSON.parse(row.waiting) as readonly string[]), // `withHead` or the migration wrote it
  }
}
