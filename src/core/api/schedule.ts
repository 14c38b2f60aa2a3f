import { z } from 'zod'
import { parseConversationKey } from '../scope.ts'

/** A message that is sent at a later time. At least one of `at` and `every` is needed. */
export const ScheduleBody = z.strictObject({
  text: z.string().min(1).max(100_000).describe('The text of the message.'),
  at: z.iso.datetime({ offset: true }).optional().describe('When the message is sent first, such as 2030-01-31T09:00:00Z.'),
  every: z.number().int().min(1).max(3_153_600_000).optional().describe('After how many seconds the message is sent again, each time.'),
  schedule_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be letters, digits, "_" and "-", at most 100')
    .optional()
    .describe('The id of the schedule. Without it, the server chooses one.'),
  notification: z
    .strictObject({ source: z.string().max(200).optional(), reactive: z.boolean().optional() })
    .optional()
    .describe('Sends the text as an event of the application, not as a message of the user.'),
})
export type ScheduleBody = z.infer<typeof ScheduleBody>

/** The response to a new schedule. `known`: there already was a schedule with this id, and it was not changed. */
export const ScheduledView = z.object({
  status: z.enum(['added', 'known']).describe('`added`, or `known` if there was a schedule with this id. It was not changed.'),
  schedule_id: z.string().describe('The id of the schedule.'),
  next_at: z.string().nullable().describe('When the message is sent next. Null when it was sent for the last time.'),
})
export type ScheduledView = z.infer<typeof ScheduledView>

/** A message that will be sent. */
export const ScheduleView = z.object({
  conversation_id: z.string().describe('The id of the conversation.'),
  schedule_id: z.string().describe('The id of the schedule.'),
  kind: z.enum(['message', 'notification']).describe('`message` of the user, or `notification` of the application.'),
  text: z.string().describe('The text that is sent.'),
  next_at: z.string().describe('When it is sent next.'),
  every: z.number().optional().describe('After how many seconds it is sent again.'),
  sent: z.number().describe('How often the message was sent so far.'),
})
export type ScheduleView = z.infer<typeof ScheduleView>

/** A page of schedules, the next one first. `next` is the cursor of the following page. */
export const ScheduleList = z.object({
  schedules: z.array(ScheduleView).describe('The schedules, the next one first.'),
  next: z.string().optional().describe('The `cursor` of the next page. The last page has none.'),
})
export type ScheduleList = z.infer<typeof ScheduleList>

export const ScheduleListQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).default(50).describe('How many items a page has at most.'),
  cursor: z.string().optional().describe('`next` of the previous page.'),
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
