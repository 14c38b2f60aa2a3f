import { MAX_OPEN_OFFERS, type Schedules } from '../../../ports/store/schedules.ts'
import { conversationMissing, firstAfter } from '../shared/conversation-info.ts'
import { checkScheduleCount, createSchedules, ROW, type ScheduleParts, type ScheduleRow, WAITING } from '../shared/schedules.ts'
import type { Conversations } from './conversations.ts'
import type { Database } from './database.ts'
import type { Offers } from './offers.ts'

/** The table of schedules. */
export function createSqliteSchedules({ database, conversations, offers, now }: ScheduleParts<Database, Conversations, Offers>): Schedules {
  const { readStatement, writeStatement } = database
  const known = writeStatement<{ removed: number }>('SELECT removed FROM schedules WHERE conversation = ? AND schedule = ?')
  const count = writeStatement<{ count: number }>('SELECT count(*) AS count FROM schedules WHERE conversation = ? AND next_at IS NOT NULL')
  const insert = writeStatement(
    `INSERT INTO schedules (conversation, schedule, body, every, next_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (conversation, schedule) DO UPDATE SET body = excluded.body, every = excluded.every, next_at = excluded.next_at,
     fired_at = NULL, removed = 0`,
  )
  const remove = writeStatement(
    `UPDATE schedules SET next_at = NULL, body = '', removed = 1 WHERE conversation = ? AND schedule = ? AND next_at IS NOT NULL`,
  )
  const fire = writeStatement(
    `UPDATE schedules SET next_at = ?1, fired = fired + ?2, fired_at = ?3, body = CASE WHEN ?1 IS NULL THEN '' ELSE body END
     WHERE conversation = ?4 AND schedule = ?5 AND next_at = ?6 AND fired = ?7 AND body = ?8 AND every IS ?9`,
  )
  const firedAfter = readStatement<ScheduleRow>(`SELECT ${ROW} FROM ${WAITING} AND every IS NOT NULL AND fired_at > ?`)
  const AFTER = '(next_at, id, schedule) > (?1, ?2, ?3) ORDER BY next_at, id, schedule LIMIT ?4'
  const select = readStatement<ScheduleRow>(
    `SELECT ${ROW} FROM ${WAITING} AND id >= ?5 AND (?6 IS NULL OR id < ?6) AND (?7 = 0 OR instr(id, '/') = 0) AND ${AFTER}`,
  )
  const selectOne = readStatement<ScheduleRow>(
    `SELECT ${ROW} FROM ${WAITING} AND conversation = (SELECT key FROM conversations WHERE id = ?5) AND ${AFTER}`,
  )

  /** Moves a schedule to its next time, unless it has changed since it was read. Returns the number of changed rows, which is 0 or 1. */
  const moveRow = (key: number, row: ScheduleRow, to: { nextAt: string | null; fired: number; at: string }) =>
    fire.run(...[to.nextAt, to.fired, to.at, key], ...[row.schedule, row.next_at, row.fired, row.body, row.every])

  return createSchedules({
    now,

    insert: (conversationId, { schedule, body, every, next_at }) =>
      database.write(() => {
        const conversation = conversations.find(conversationId)
        if (!conversation) throw conversationMissing(conversationId)
        if (known.get(conversation.key, schedule)?.removed === 0) return 'known'
        checkScheduleCount(count.get(conversation.key)?.count ?? 0)
        insert.run(conversation.key, schedule, body, every, next_at)
        return 'added'
      }),

    remove: (conversationId, scheduleId) =>
      database.write(() => {
        const conversation = conversations.find(conversationId)
        return conversation !== undefined && remove.run(conversation.key, scheduleId) > 0
      }),

    async select({ conversationId, prefix = '', plain }, after, limit) {
      if (!(conversationId ?? prefix).isWellFormed()) return []
      const range = [after?.next_at ?? '', after?.id ?? '', after?.schedule ?? '', limit]
      return database.read(() =>
        conversationId === undefined
          ? select.all(...range, prefix, firstAfter(prefix) ?? null, plain ? 1 : 0)
          : selectOne.all(...range, conversationId),
      )
    },

    async fire(row, event, nextAt) {
      const { write, insert: offer } = await offers.prepare(row.id, event)
      return write(() => {
        const conversation = conversations.find(row.id)
        if (!conversation) return false
        const isFull = (conversation.offers ?? 0) >= MAX_OPEN_OFFERS
        if (moveRow(conversation.key, row, { nextAt, fired: isFull ? 0 : 1, at: event.ts }) === 0) return false
        if (!isFull) offer()
        return true
      })
    },

    firedAfter: async (time) => database.read(() => firedAfter.all(time)),

    async move(row, nextAt, time) {
      await database.write(() => {
        const conversation = conversations.find(row.id)
        if (conversation) moveRow(conversation.key, row, { nextAt, fired: 0, at: time })
      })
    },
  })
}
