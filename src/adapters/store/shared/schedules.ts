import { Failure } from '../../../core/failure.ts'
import { parseJson } from '../../../core/json.ts'
import { isId } from '../../../core/path/safety.ts'
import {
  SCHEDULES_PER_CONVERSATION,
  type Schedule,
  type ScheduledEvent,
  type SchedulePage,
  type ScheduleQuery,
  type Schedules,
} from '../../../ports/store/schedules.ts'
import type { OfferedEvent } from '../../../ports/store.ts'
import { pageSize } from './conversation-info.ts'

/** A row of the table of schedules. `next_at` is null when the schedule has fired for the last time or was removed. */
export interface ScheduleRow {
  /** The conversation. */
  readonly id: string
  readonly schedule: string
  /** The event as JSON. Empty when the schedule does not fire any more. */
  readonly body: string
  readonly every: number | null
  readonly next_at: string
  readonly fired: number
}

/** The columns of a `ScheduleRow`, for a SELECT from `WAITING`. */
export const ROW = 'id, schedule, body, every, next_at, fired'
/** SQL for the schedules that will fire and whose conversations are not deleted. Further conditions can be appended with AND. */
export const WAITING = 'schedules JOIN conversations ON key = conversation WHERE deleted_at IS NULL AND next_at IS NOT NULL'

/** The parts of an SQL store that its schedules need. */
export interface ScheduleParts<Database, Conversations extends { find: unknown }, Offers extends { prepare: unknown }> {
  readonly database: Database
  readonly conversations: Pick<Conversations, 'find'>
  readonly offers: Pick<Offers, 'prepare'>
  now(): string
}

/** The place of a schedule in the list. */
export type SchedulePlace = Pick<ScheduleRow, 'next_at' | 'id' | 'schedule'>

/** How a store reads and writes its table of schedules. */
export interface ScheduleTable {
  /** Throws `conversation.missing` and `schedule.limit`. */
  insert(conversationId: string, row: Omit<ScheduleRow, 'id' | 'fired'>): Promise<'added' | 'known'>
  remove(conversationId: string, scheduleId: string): Promise<boolean>
  /** Rows with a `next_at`, in the order of `next_at`, `id` and `schedule`, by bytes. */
  select(query: ScheduleQuery, after: SchedulePlace | undefined, limit: number): Promise<readonly ScheduleRow[]>
  /**
   * Offers the event and moves the schedule to `nextAt`, in one transaction. If `nextAt` is null, the schedule ends. Returns false, and
   * does nothing, if the row has changed since it was read. If the conversation already has `MAX_OPEN_OFFERS` open offers, the schedule is
   * moved without an offer.
   */
  fire(row: ScheduleRow, event: OfferedEvent, nextAt: string | null): Promise<boolean>
  /** The repeated schedules that have fired at a later time than `now`, because the clock was set back. */
  firedAfter(now: string): Promise<readonly ScheduleRow[]>
  /** Moves a schedule to another time without an event, unless the row has changed since it was read. */
  move(row: ScheduleRow, nextAt: string, now: string): Promise<void>
  now(): string
}

/** How many schedules are read together. */
const PAGE = 100

export function createSchedules(table: ScheduleTable): Schedules {
  async function fireRow(row: ScheduleRow, now: string): Promise<boolean> {
    try {
      return await table.fire(row, eventOf(row, now), nextTime(row, now))
    } catch (error) {
      if (error instanceof Failure && error.code === 'conversation.missing') return false // the conversation was deleted meanwhile
      throw error
    }
  }

  return {
    async add(conversationId, { scheduleId, event, at, every }) {
      checkSchedule(scheduleId, at, every)
      const row = { schedule: scheduleId, body: JSON.stringify(event), every: every ?? null, next_at: new Date(at).toISOString() }
      return table.insert(conversationId, row)
    },

    remove: async (conversationId, scheduleId) => isId(scheduleId) && table.remove(conversationId, scheduleId),

    async list(query = {}) {
      const size = pageSize(query)
      return pageOf(await table.select(query, parsePlace(query.cursor), size + 1), size)
    },

    async fire() {
      const now = table.now()
      for (const row of await table.firedAfter(now)) await table.move(row, later(now, row.every ?? 0), now)
      let fired = 0
      for (let after: SchedulePlace | undefined; ; ) {
        const rows = await table.select({}, after, PAGE)
        for (const row of rows) {
          if (row.next_at > now) return { fired, nextAt: row.next_at }
          if (await fireRow(row, now)) fired++
        }
        after = rows.at(-1)
        if (!after || rows.length < PAGE) return { fired, nextAt: (await table.select({}, undefined, 1))[0]?.next_at }
      }
    },
  }
}

function checkSchedule(scheduleId: string, at: string, every: number | undefined): void {
  if (!isId(scheduleId) || scheduleId.length > MAX_ID)
    throw new Failure('schedule.invalid', `the id of a schedule has at most ${MAX_ID} letters, digits, "_" and "-"`)
  const year = new Date(at).getUTCFullYear() // NaN for a text that is not a time
  if (!(year >= 1970 && year <= 9999))
    throw new Failure('schedule.invalid', `${JSON.stringify(at)} is not a time such as 2030-01-31T09:00:00Z`)
  if (every === undefined || (Number.isInteger(every) && every >= 1 && every <= MAX_EVERY)) return
  throw new Failure('schedule.invalid', `a schedule repeats after a whole number of seconds from 1 to ${MAX_EVERY}, not ${every}`)
}

const MAX_ID = 100

/** A hundred years in seconds. */
const MAX_EVERY = 3_153_600_000

const later = (time: string, seconds: number): string => new Date(Date.parse(time) + seconds * 1_000).toISOString()

/**
 * The first time after `now` at which the schedule fires. The times are multiples of `every` after the original time. Times that have
 * passed are skipped.
 */
function nextTime({ next_at, every }: ScheduleRow, now: string): string | null {
  if (every === null) return null
  const passed = Math.floor((Date.parse(now) - Date.parse(next_at)) / (every * 1_000))
  return later(next_at, (passed + 1) * every)
}

/** The next event of a schedule. */
const eventOf = ({ schedule, body, fired }: ScheduleRow, now: string): OfferedEvent => ({
  event_id: `${schedule}-${fired + 1}`,
  ts: now,
  ...scheduledEvent(body),
})

const scheduledEvent = (body: string): ScheduledEvent => JSON.parse(body) as ScheduledEvent // only `add` writes the body

const scheduleOf = ({ id, schedule, body, every, next_at, fired }: ScheduleRow): Schedule => ({
  conversationId: id,
  scheduleId: schedule,
  event: scheduledEvent(body),
  nextAt: next_at,
  ...(every !== null && { every }),
  fired,
})

function pageOf(rows: readonly ScheduleRow[], size: number): SchedulePage {
  const shown = rows.slice(0, size)
  const last = shown.at(-1)
  const place = last && JSON.stringify([last.next_at, last.id, last.schedule])
  return { schedules: shown.map(scheduleOf), ...(rows.length > size && place && { next: Buffer.from(place).toString('base64url') }) }
}

/** Parses the text that `pageOf` returned as `next`. Other text throws `cursor.invalid`. */
function parsePlace(cursor: string | undefined): SchedulePlace | undefined {
  if (cursor === undefined) return undefined
  const value = parseJson(Buffer.from(cursor, 'base64url').toString())
  const [next_at, id, schedule] = Array.isArray(value) ? value : []
  if ([next_at, id, schedule].every((text) => typeof text === 'string' && text.isWellFormed() && !text.includes('\0')))
    return { next_at, id, schedule } as SchedulePlace
  throw new Failure('cursor.invalid', 'the cursor is not from this list: start again without a cursor')
}

/** Throws `schedule.limit` if a conversation with this many schedules can not have a further schedule. */
export function checkScheduleCount(count: number): void {
  if (count < SCHEDULES_PER_CONVERSATION) return
  throw new Failure('schedule.limit', `the conversation has ${count} schedules already: remove one first`)
}
