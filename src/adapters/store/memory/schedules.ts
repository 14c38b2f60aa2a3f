import { MAX_OPEN_OFFERS, type Schedules } from '../../../ports/store/schedules.ts'
import type { OfferedEvent } from '../../../ports/store.ts'
import { compareBytes, conversationMissing } from '../shared/conversation-info.ts'
import { checkScheduleCount, createSchedules, type SchedulePlace, type ScheduleRow } from '../shared/schedules.ts'
import type { MemoryConversation } from './conversation.ts'

/** A schedule of a conversation in memory. A schedule without `next_at` does not fire any more. */
export interface MemorySchedule extends Omit<ScheduleRow, 'id' | 'schedule' | 'next_at'> {
  readonly next_at: string | null
  readonly firedAt?: string
  /** Whether the schedule was removed. A removed schedule can be added again. */
  readonly removed?: true
}

interface ScheduleParts {
  readonly conversations: ReadonlyMap<string, MemoryConversation>
  write<T>(work: () => T | Promise<T>): Promise<T>
  offer(conversationId: string, event: OfferedEvent): Promise<unknown>
  now(): string
}

export function createMemorySchedules({ conversations, write, offer, now }: ScheduleParts): Schedules {
  const allRows = (): ScheduleRow[] =>
    [...conversations].flatMap(([id, { schedules }]) =>
      [...schedules].flatMap(([schedule, { next_at, ...row }]) => (next_at === null ? [] : [{ ...row, id, schedule, next_at }])),
    )

  /** The schedule of a row, unless it has changed since it was read. */
  function unchanged({ id, schedule, next_at, fired, body, every }: ScheduleRow): MemorySchedule | undefined {
    const found = conversations.get(id)?.schedules.get(schedule)
    return found?.next_at === next_at && found.fired === fired && found.body === body && found.every === every ? found : undefined
  }

  const put = ({ id, schedule }: ScheduleRow, next: MemorySchedule) => conversations.get(id)?.schedules.set(schedule, next)

  return createSchedules({
    now,

    insert: (conversationId, { schedule, ...row }) =>
      write(() => {
        const conversation = conversations.get(conversationId)
        if (!conversation) throw conversationMissing(conversationId)
        const { schedules } = conversation
        const known = schedules.get(schedule)
        if (known && !known.removed) return 'known'
        checkScheduleCount([...schedules.values()].filter(({ next_at }) => next_at !== null).length)
        schedules.set(schedule, { ...row, fired: known?.fired ?? 0 })
        return 'added'
      }),

    remove: (conversationId, scheduleId) =>
      write(() => {
        const schedules = conversations.get(conversationId)?.schedules
        const found = schedules?.get(scheduleId)
        if (!schedules || !found || found.next_at === null) return false
        schedules.set(scheduleId, { ...found, body: '', next_at: null, removed: true })
        return true
      }),

    async select({ conversationId, prefix = '', plain }, after, limit) {
      return allRows()
        .filter(
          ({ id }) => (conversationId === undefined || id === conversationId) && id.startsWith(prefix) && !(plain && id.includes('/')),
        )
        .filter((row) => after === undefined || comparePlaces(row, after) > 0)
        .sort(comparePlaces)
        .slice(0, limit)
    },

    fire: (row, event, nextAt) =>
      write(async () => {
        const found = unchanged(row)
        if (!found) return false
        const isFull = (conversations.get(row.id)?.openOffers.size ?? 0) >= MAX_OPEN_OFFERS
        if (!isFull) await offer(row.id, event)
        const body = nextAt === null ? '' : found.body
        put(row, { ...found, body, next_at: nextAt, fired: found.fired + (isFull ? 0 : 1), firedAt: event.ts })
        return true
      }),

    async firedAfter(time) {
      return allRows().filter(({ id, schedule, every }) => {
        const firedAt = conversations.get(id)?.schedules.get(schedule)?.firedAt
        return every !== null && firedAt !== undefined && firedAt > time
      })
    },

    async move(row, nextAt, time) {
      await write(() => {
        const found = unchanged(row)
        if (found) put(row, { ...found, next_at: nextAt, firedAt: time })
      })
    },
  })
}

const comparePlaces = (a: SchedulePlace, b: SchedulePlace): number =>
  compareBytes(a.next_at, b.next_at) || compareBytes(a.id, b.id) || compareBytes(a.schedule, b.schedule)
