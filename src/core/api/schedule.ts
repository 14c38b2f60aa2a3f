import { z } from 'zod'
import { parseConversationKey } from '../scope.ts'

/** A message that is sent at a later time. At least one of `at` and `every` is needed. */
export const ScheduleBody = z.strictObject({
  text: z.string().min(1).max(100_000),
  /** When the message is sent first, such as 2030-01-31T09:00:00Z. */
  at: z.iso.datetime({ offset: true }).optional(),
  /** After how many seconds the message is sent again, each time. */
  every: z.number().int().min(1).max(3_153_600_000).optional(),
  schedule_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be letters, digits, "_" and "-", at most 100')
    .optional(),
  /** Sends the text as an event of the application, not as a message of the user. */
  notification: z.strictObject({ source: z.string().max(200).optional(), reactive: z.boolean().optional() }).optional(),
})
export type ScheduleBody = z.infer<typeof ScheduleBody>

/** The response to a new schedule. `known`: there already was a schedule with this id, and it was not changed. */
export const ScheduledView = z.object({
  status: z.enum(['added', 'known']),
  schedule_id: z.string(),
  /** When the message is sent next. Null when it was sent for the last time. */
  next_at: z.string().nullable(),
})
export type ScheduledView = z.infer<typeof ScheduledView>

/** A message that will be sent. */
export const ScheduleView = z.object({
  conversation_id: z.string(),
  schedule_id: z.string(),
  kind: z.enum(['message', 'notification']),
  text: z.string(),
  next_at: z.string(),
  every: z.number().optional(),
  /** How often the message was sent so far. */
  sent: z.number(),
})
export type ScheduleView = z.infer<typeof ScheduleView>

/** A page of schedules, the next one first. `next` is the cursor of the following page. */
export const ScheduleList = z.object({ schedules: z.array(ScheduleView), next: z.string().optional() })
export type ScheduleList = z.infer<typeof ScheduleList>

export const ScheduleListQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).default(50),
  cursor: z.string().optional(),
})

/** A schedule as stores return it. Its conversation is a key, which contains the scope. */
interface StoredSchedule {
  readonly conversationId: string
  readonly scheduleId: string
  readonly event: { readonly kind: 'followup' | 'external'; readonly text: string }
  readonly nextAt: string
  readonly every?: number
  readonly fired: number
}

export const scheduleView = ({ conversationId, scheduleId, event, nextAt, every, fired }: StoredSchedule): ScheduleView => ({
  conversation_id: parseConversationKey(conversationId).name,
  schedule_id: scheduleId,
  kind: event.kind === 'followup' ? 'message' : 'notification',
  text: event.text,
  next_at: nextAt,
  ...(every !== undefined && { every }),
  sent: fired,
})
