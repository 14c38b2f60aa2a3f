import { MAX_OPEN_OFFERS, type Schedules } from '../../../ports/store/schedules.ts'
import { conversationMissing, firstAfter } from '../shared/conversation-info.ts'
import { checkScheduleCount, createSchedules, ROW, type ScheduleParts, type ScheduleRow, WAITING } from '../shared/schedules.ts'
import { isStorableId } from './conversation-columns.ts'
import { type Conversations, LOCK } from './conversations.ts'
import type { Database, Queries } from './database.ts'
import type { Offers } from './offers.ts'

/** The table of schedules. */
export function createPostgresSchedules({
  database,
  conversations,
  offers,
  now,
}: ScheduleParts<Database, Conversations, Offers>): Schedules {
  /**
   * Moves a schedule to its next time, unless it has changed since it was read. If another process is moving the schedule at this moment,
   * this process waits, and then does nothing.
   */
  const moveRow = async (queries: Queries, key: number, row: ScheduleRow, to: { nextAt: string | null; fired: number; at: string }) =>
    (await queries.run(
      `UPDATE schedules SET next_at = $1, fired = fired + $2, fired_at = $3, body = CASE WHEN $1::text IS NULL THEN '' ELSE body END
       WHERE conversation = $4 AND schedule = $5 AND next_at = $6 AND fired = $7 AND body = $8 AND every IS NOT DISTINCT FROM $9`,
      [...[to.nextAt, to.fired, to.at, key], ...[row.schedule, row.next_at, row.fired, row.body, row.every]],
    )) > 0

  return createSchedules({
    now,

    insert: (conversationId, { schedule, body, every, next_at }) =>
      database.repeat(async (queries) => {
        const conversation = await conversations.find(queries, conversationId, LOCK)
        if (!conversation) throw conversationMissing(conversationId)
        const { key } = conversation
        const sql = 'SELECT removed FROM schedules WHERE conversation = $1 AND schedule = $2'
        const [known] = await queries.all<{ removed: number }>(sql, [key, schedule])
        if (known?.removed === 0) return 'known'
        const waiting = 'SELECT count(*)::int AS count FROM schedules WHERE conversation = $1 AND next_at IS NOT NULL'
        checkScheduleCount((await queries.all<{ count: number }>(waiting, [key]))[0]?.count ?? 0)
        await queries.run(
          `INSERT INTO schedules (conversation, schedule, body, every, next_at) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (conversation, schedule) DO UPDATE SET body = excluded.body, every = excluded.every, next_at = excluded.next_at,
           fired_at = NULL, removed = 0`,
          [key, schedule, body, every, next_at],
        )
        return 'added'
      }),

    remove: (conversationId, scheduleId) =>
      database.repeat(async (queries) => {
        const conversation = await conversations.find(queries, conversationId, LOCK)
        const sql = `UPDATE schedules SET next_at = NULL, body = '', removed = 1
          WHERE conversation = $1 AND schedule = $2 AND next_at IS NOT NULL`
        return conversation !== undefined && (await queries.run(sql, [conversation.key, scheduleId])) > 0
      }),

    async select({ conversationId, prefix = '', plain }, after, limit) {
      if (!isStorableId(conversationId ?? prefix)) return []
      const range = [after?.next_at ?? '', after?.id ?? '', after?.schedule ?? '', limit]
      const end = '(next_at, id, schedule) > ($1, $2, $3) ORDER BY next_at, id, schedule LIMIT $4'
      if (conversationId !== undefined)
        return database.all<ScheduleRow>(`SELECT ${ROW} FROM ${WAITING} AND id = $5 AND ${end}`, [...range, conversationId])
      return database.all<ScheduleRow>(
        `SELECT ${ROW} FROM ${WAITING} AND id >= $5 AND ($6::text IS NULL OR id < $6) AND (NOT $7 OR position('/' in id) = 0) AND ${end}`,
        [...range, prefix, firstAfter(prefix) ?? null, plain === true],
      )
    },

    async fire(row, event, nextAt) {
      const { write, insert } = await offers.prepare(row.id, event)
      return write(async (queries) => {
        const conversation = await conversations.find(queries, row.id, LOCK)
        if (!conversation) return false
        const isFull = (conversation.offers ?? 0) >= MAX_OPEN_OFFERS
        if (!(await moveRow(queries, conversation.key, row, { nextAt, fired: isFull ? 0 : 1, at: event.ts }))) return false
        if (!isFull) await insert(queries)
        return true
      })
    },

    firedAfter: (time) => database.all<ScheduleRow>(`SELECT ${ROW} FROM ${WAITING} AND every IS NOT NULL AND fired_at > $1`, [time]),

    async move(row, nextAt, time) {
      await database.repeat(async (queries) => {
        const conversation = await conversations.find(queries, row.id)
        if (conversation) await moveRow(queries, conversation.key, row, { nextAt, fired: 0, at: time })
      })
    },
  })
}
