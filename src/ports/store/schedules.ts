import type { ListQuery } from './list.ts'

/**
 * Events that a store offers to conversations at a later time. A schedule fires once at each of its times, even if several processes call
 * `fire` at the same moment, or if one of them dies. This works because one transaction stores the offer and the next time of the schedule.
 */
export interface Schedules {
  /**
   * Stores a schedule. Returns `known`, and changes nothing, if the conversation has a schedule with this id, or if a schedule with this id
   * has fired for the last time. A schedule that was removed can be added again. The numbers of its events then continue where they ended
   * before. Throws `conversation.missing` when there is no such conversation, and `schedule.limit` when it has
   * `SCHEDULES_PER_CONVERSATION`.
   */
  add(conversationId: string, schedule: NewSchedule): Promise<'added' | 'known'>
  /** Removes a schedule. Returns false when there is no schedule with this id. */
  remove(conversationId: string, scheduleId: string): Promise<boolean>
  /** A page of the schedules that will fire. The schedule that is due first comes first. */
  list(query?: ScheduleQuery): Promise<SchedulePage>
  /**
   * Offers the events of all schedules that are due, and returns when the next schedule is due. Any process may call it at any time.
   * - The event with the number n of a schedule has the id `<schedule id>-<n>`.
   * - If several times of a repeated schedule have passed, for example while no process ran, the schedule fires once for all of them.
   * - If the clock was set back, a repeated schedule fires again at the latest one interval after the new time.
   * - An event is left out while the conversation has `MAX_OPEN_OFFERS` offers that no process has taken.
   */
  fire(): Promise<{ readonly fired: number; readonly nextAt: string | undefined }>
}

/** A schedule that a caller adds. */
export interface NewSchedule {
  /** Letters, digits, `_` and `-`. */
  readonly scheduleId: string
  readonly event: ScheduledEvent
  /** When the schedule fires for the first time. */
  readonly at: string
  /** The seconds between two events. Missing for a schedule that fires once. */
  readonly every?: number
}

/** What a schedule sends: a message of the user (`followup`), or an event of the application (`external`). */
export interface ScheduledEvent {
  readonly kind: 'followup' | 'external'
  readonly text: string
  readonly payload?: unknown
}

/** A stored schedule. */
export interface Schedule extends Omit<NewSchedule, 'at'> {
  readonly conversationId: string
  readonly nextAt: string
  /** How many events the schedule has sent. */
  readonly fired: number
}

/** Which schedules `list` returns. */
export interface ScheduleQuery extends Pick<ListQuery, 'limit' | 'cursor' | 'prefix' | 'plain'> {
  /** Only the schedules of this conversation. */
  readonly conversationId?: string
}

/** A page of schedules. `next` is the cursor of the following page, and undefined on the last page. */
export interface SchedulePage {
  readonly schedules: readonly Schedule[]
  readonly next?: string
}

/** The greatest number of schedules that a conversation can have. */
export const SCHEDULES_PER_CONVERSATION = 100

/** From this number of open offers on, a conversation gets no further events of schedules. */
export const MAX_OPEN_OFFERS = 100
