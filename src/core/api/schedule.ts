import { z } from 'zod'
import { parseConversationKey } from '../scope.ts'

/** A message that is sent at a later time. The request must have `at`, `every` or both. */
export const ScheduleBody = z.strictObject({
  text: z.string().min(1).max(100_000).describe('The text of the message.'),
  at: z.iso.datetime({ offset: true }).optional().describe('When the message is sent for the first time, such as 2030-01-31T09:00:00Z.'),
  every: z
    .number()
    .int()
    .min(1)
    .max(3_153_600_000)
    .optional()
    .describe('The number of seconds between two times at which the message is sent.'),
  schedule_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be letters, digits, "_" and "-", at most 100 characters')
    .optional()
    .describe('The id of the schedule. Without it, the server chooses one.'),
  notification: z
    .strictObject({ source: z.string().max(200).optional(), reactive: z.boolean().optional() })
    .optional()
    .describe(
      'If this object is present, the text is sent as an event of the application and not as a message of the user. Such an event starts no turn.',
    ),
})
export type ScheduleBody = z.infer<typeof ScheduleBody>

/** The response to a new schedule. If `status` is `known`, a schedule with this id already existed, and the request did not change it. */
export const ScheduledView = z.object({
  status: z
    .enum(['added', 'known'])
    .describe('`added`: the schedule is new. `known`: a schedule with this id already existed, and the request did not change it.'),
  schedule_id: z.string().describe('The id of the schedule.'),
  next_at: z.string().nullable().describe('When the message is sent next. Null when it will not be sent again.'),
})
export type ScheduledView = z.infer<typeof ScheduledView>

/** A message that will be sent. */
export const ScheduleView = z.object({
  conversation_id: z.string().describe('The id of the conversation.'),
  schedule_id: z.string().describe('The id of the schedule.'),
  kind: z
    .enum(['message', 'notification'])
    .describe('`message`: sent as a message of the user. `notification`: sent as an event of the application.'),
  text: z.string().describe('The text that is sent.'),
  next_at: z.string().describe('When the text is sent next.'),
  every: z
    .number()
    .optional()
    .describe('The number of seconds between two times at which the text is sent. Missing when it is sent only once.'),
  sent: z.number().describe('How many times the text was sent so far.'),
})
export type ScheduleView = z.infer<typeof ScheduleView>

/** A page of schedules. The schedule that is due first comes first. `next` is the cursor of the following page. */
export const ScheduleList = z.object({
  schedules: z.array(ScheduleView).describe('The schedules. The one that is due first comes first.'),
  next: z.string().optional().describe('The `cursor` of the next page. Missing on the last page.'),
})
export type ScheduleList = z.infer<typeof ScheduleList>

export const ScheduleListQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('How many items a page has at most.'),
  cursor: z.string().optional().describe('`next` of the previous page.'),
})

/** A schedule as stores return it. `conversationId` is the key of the conversation in the store, which contains the scope. */
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
