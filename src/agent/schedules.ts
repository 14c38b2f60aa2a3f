import { Failure } from '../core/failure.ts'
import { expects, flag, group, type OptionRules, optional, text, wholeNumberFrom } from '../core/options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Schedule, ScheduledEvent, SchedulePage, ScheduleQuery, Schedules } from '../ports/store/schedules.ts'
import type { ConversationStore, Owner } from '../ports/store.ts'
import { isBusy } from './conversation/claim.ts'
import { check, checkText } from './message.ts'

/** Options of `Agent.schedule`. The options must have `at`, `every` or both. */
export interface ScheduleOptions {
  /** When the message is sent for the first time: a `Date`, or a text such as `2030-01-31T09:00:00Z`. Default: `every` seconds from now. */
  readonly at?: string | Date
  /** The interval in seconds at which the message is sent again. Without it, the message is sent once. */
  readonly every?: number
  /**
   * An id chosen by the caller, so that a message can be scheduled twice without harm: the second call with this id has no effect. Allowed
   * are letters, digits, `_` and `-`.
   */
  readonly scheduleId?: string
  /**
   * Sends the text as an event of the application, as `Agent.notify` does, and not as a message of the user. An event starts no turn. If no
   * turn is running, the event waits for the next turn.
   */
  readonly notification?: { readonly source?: string; readonly reactive?: boolean }
}

/** The result of `Agent.schedule`. `known`: a schedule with this id was added before, and it was not changed. */
export interface Scheduled {
  readonly status: 'added' | 'known'
  readonly scheduleId: string
  /** When the message is sent next. Null when it will not be sent again. */
  readonly nextAt: string | null
}

/**
 * The functions about messages that are sent at a later time. Agents that call `work`, such as the agents of servers, send these messages.
 */
export interface Scheduling {
  /**
   * Sends a message at a later time, once or repeatedly. At each time of the schedule it is sent once, even if several processes run. If no
   * process runs at that time, it is sent when the next process starts. It is then sent once, even if several times have passed. A
   * conversation that does not exist is created. Throws `schedule.invalid` for invalid options, and `schedule.limit` if the conversation
   * has too many schedules.
   */
  schedule(conversationId: string, text: string, options: ScheduleOptions): Promise<Scheduled>
  /** Removes a schedule. Returns false when the conversation has no schedule with this id. */
  unschedule(conversationId: string, scheduleId: string): Promise<boolean>
  /** The messages that will be sent, page by page. The message that is due first comes first. */
  schedules(query?: ScheduleQuery): Promise<SchedulePage>
}

export type { Schedule, SchedulePage, ScheduleQuery }

/** The longest text of a schedule, in characters. */
export const MAX_SCHEDULED_TEXT = 100_000

const rules: OptionRules<ScheduleOptions> = {
  at: optional(expects('a Date, or a text with a time', (value) => typeof value === 'string' || value instanceof Date)),
  every: optional(wholeNumberFrom(1)),
  scheduleId: optional(text),
  notification: optional(group('an object such as { source }', { source: optional(text), reactive: optional(flag) })),
}
const checkOptions = check<ScheduleOptions>('schedule', rules, 'an object with `at` or `every`')

interface SchedulingParts {
  readonly store: ConversationStore
  readonly clock: Pick<Clock, 'now' | 'randomHex'>
  readonly owner: Owner
}

export function createScheduling({ store, clock, owner }: SchedulingParts): Scheduling {
  function schedules(): Schedules {
    if (store.schedules) return store.schedules
    throw new Failure('schedule.unsupported', 'the store of this agent can not schedule messages: it has no `schedules`')
  }

  async function createIfMissing(conversationId: string): Promise<void> {
    if (await store.head(conversationId)) return
    try {
      await store.release(await store.claim(conversationId, owner))
    } catch (error) {
      if (!isBusy(error) || !(await store.head(conversationId))) throw error // another process may have created the conversation
    }
  }

  return {
    async schedule(conversationId, text, options) {
      checkText('conversationId', conversationId)
      checkText('text', text)
      const { at, every, scheduleId = clock.randomHex(12), notification } = checkOptions(options)
      if (text.length > MAX_SCHEDULED_TEXT)
        throw new Failure('schedule.invalid', `the text of a schedule has at most ${MAX_SCHEDULED_TEXT} characters, not ${text.length}`)
      const first = at === undefined ? secondsFrom(clock.now(), every) : timeOf(at)
      const event: ScheduledEvent = notification
        ? { kind: 'external', text, payload: { reactive: notification.reactive === true, source: notification.source ?? 'schedule' } }
        : { kind: 'followup', text }
      await createIfMissing(conversationId)
      const status = await schedules().add(conversationId, { scheduleId, event, at: first, ...(every !== undefined && { every }) })
      if (status === 'added') return { status, scheduleId, nextAt: first }
      const known = (await schedules().list({ conversationId, limit: 500 })).schedules.find((each) => each.scheduleId === scheduleId)
      return { status, scheduleId, nextAt: known?.nextAt ?? null }
    },
    unschedule: (conversationId, scheduleId) => schedules().remove(conversationId, scheduleId),
    schedules: async (query) => schedules().list(query),
  }
}

function secondsFrom(now: string, every: number | undefined): string {
  if (every === undefined) throw new Failure('schedule.invalid', 'a schedule needs a time (`at`) or an interval (`every`)')
  const time = Date.parse(now) + every * 1_000
  return Math.abs(time) <= 8.64e15 ? new Date(time).toISOString() : '' // the store rejects such an interval
}

function timeOf(at: string | Date): string {
  const time = new Date(at)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw new Failure('schedule.invalid', `${JSON.stringify(at)} is not a time such as 2030-01-31T09:00:00Z`)
}

/** How often an agent looks for schedules that other processes have added. */
const LOOK_MS = 1_000

/** Fires schedules when they are due, until the returned function is called. */
export function runSchedules(schedules: Schedules, clock: Pick<Clock, 'now'>, onError: (error: unknown) => void): () => void {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let failed = false

  async function fire(): Promise<void> {
    let wait = LOOK_MS
    try {
      const { nextAt } = await schedules.fire()
      if (nextAt !== undefined) wait = Math.min(Math.max(Date.parse(nextAt) - Date.parse(clock.now()), 0), LOOK_MS)
      failed = false
    } catch (error) {
      if (!failed && !stopped) onError(error) // a failure that lasts is reported only once
      failed = true
    }
    if (!stopped) timer = setTimeout(() => void fire(), wait).unref()
  }

  void fire()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
