import { z } from 'zod'
import { maximumTitleLength } from '../title.ts'

/**
 * The id of a conversation in the HTTP API. Two users may have conversations with the same id, because the server adds the tenant, project
 * and user of the caller.
 */
export const ConversationId = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be letters, digits, "_" and "-", at most 128 characters')

/** A conversation in the list of conversations. */
export const ConversationSummary = z.object({
  id: ConversationId.describe('The id of the conversation.'),
  title: z.string().nullable().describe('The title. Null while the conversation has no title.'),
  started_at: z.string().nullable().describe('When the first turn began.'),
  last_activity_at: z.string().nullable().describe('When the last entry was stored.'),
  last_seq: z.int().nonnegative().describe('The number of the last entry in the journal.'),
  open_turn: z
    .string()
    .nullable()
    .describe('The id of the open turn: it runs, it waits, or the process that ran it has died. Null when no turn is open.'),
  parked: z
    .literal(true)
    .optional()
    .describe(
      'Set when the conversation is parked: its turns failed so often that the server tries them again only after a new message or a retry.',
    ),
  budget_left: z
    .object({ tokens: z.number().optional(), money: z.number().optional() })
    .optional()
    .describe(
      'How much the conversation can still spend: the smallest amount left in any budget that applies to it. Missing when none of these budgets has a limit. If the caller is not an operator, only the budgets of the conversation and of the user are considered.',
    ),
})
export type ConversationSummary = z.infer<typeof ConversationSummary>

/** A parked conversation: its turns failed so often that the server does not try them again by itself. `id` is the id in the store. */
export const ParkedView = z.object({
  id: z.string().describe('The id of the conversation in the store, with its tenant, project and user.'),
  at: z.string().describe('When the conversation was parked.'),
  attempts: z.int().describe('How often turns of the conversation failed before it was parked.'),
  reason: z.string().describe('The error of the last failed turn.'),
})
export type ParkedView = z.infer<typeof ParkedView>

/** A page of the parked conversations of all users. */
export const ParkedList = z.object({
  parked: z.array(ParkedView).describe('The conversations.'),
  next: z.string().optional().describe('The `cursor` of the next page. Missing on the last page.'),
})
export type ParkedList = z.infer<typeof ParkedList>

/**
 * The response to a retry. `retried` is false if there was nothing to retry: the conversation is not parked, and none of its turns has
 * failed.
 */
export const RetryView = z.object({
  retried: z.boolean().describe('True if the server tries failed turns again. False if there was nothing to retry.'),
})
export type RetryView = z.infer<typeof RetryView>

/** A title is one line without control characters. A control character could move the cursor of a terminal or end an HTTP header. */
const Title = z
  .string()
  .trim()
  .min(1)
  .max(maximumTitleLength)
  .regex(/^\P{Cc}*$/u, 'must be one line, without control characters')

/** The request to create a conversation. If it has no id, the server chooses one. */
export const NewConversation = z.strictObject({
  id: ConversationId.optional().describe(
    'The id: letters, digits, "_" and "-", at most 128 characters. Without it, the server chooses one.',
  ),
  title: Title.optional().describe('The title: one line.'),
})
export type NewConversation = z.infer<typeof NewConversation>

/** The request to change a conversation. */
export const ConversationChange = z.strictObject({ title: Title.describe('The new title: one line.') })
export type ConversationChange = z.infer<typeof ConversationChange>

/** The query that selects conversations for a list. */
export const ConversationQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(50).describe('How many items a page has at most.'),
  cursor: z.string().max(1024).optional().describe('`next` of the previous page.'),
  search: z.string().max(200).optional().describe('Only conversations with this text in their title, messages or answers.'),
})
export type ConversationQuery = z.input<typeof ConversationQuery>

/** One page of a list of conversations. `next` is the cursor of the next page. The last page has no `next`. */
export const ConversationList = z.object({
  conversations: z.array(ConversationSummary).describe('The conversations. The one with the latest activity is first.'),
  next: z.string().optional().describe('The `cursor` of the next page. Missing on the last page.'),
})
export type ConversationList = z.infer<typeof ConversationList>

/** The request to copy a conversation. */
export const ForkRequest = z
  .strictObject({
    id: ConversationId.optional().describe('The id of the copy. Without it, the server chooses one.'),
    at_turn: z.string().max(200).optional().describe('The last turn to copy. By default it is the latest turn that has ended.'),
    at_seq: z
      .int()
      .min(1)
      .max(1e15)
      .optional()
      .describe(
        'The last entry to copy. If a tool call had no result yet at this entry, the copy ends earlier: at the last entry at which every tool call had a result. If a turn is open at the end of the copy, it is closed with the exit reason `forked`.',
      ),
  })
  .refine(({ at_turn, at_seq }) => at_turn === undefined || at_seq === undefined, { message: 'give `at_turn` or `at_seq`, not both' })
export type ForkRequest = z.infer<typeof ForkRequest>

/** A file that the agent made for the user, or that the user attached. Its bytes are at `/v1/resources/<rn>`. */
export const FileSummary = z.object({
  rn: z.string().describe('The handle of the file: `GET /v1/resources/:rn` returns its bytes.'),
  filename: z.string().describe('The name of the file.'),
  mime: z.string().describe('The media type.'),
  size_bytes: z.int().nonnegative().describe('The size in bytes.'),
  turn_id: z.string().describe('The turn in which the file was attached or made.'),
  logical_path: z.string().describe('The path of the file in the conversation.'),
  ts: z.string().describe('When the file was attached or made.'),
  description: z.string().optional().describe('What the file is.'),
  origin: z.enum(['user', 'artifact']).describe('`user` for a file that the user attached, `artifact` for a file that the agent made.'),
})
export type FileSummary = z.infer<typeof FileSummary>

export const FileList = z.object({ files: z.array(FileSummary).describe('The files.') })
export type FileList = z.infer<typeof FileList>
