import { z } from 'zod'
import { maximumTitleLength } from '../title.ts'

/**
 * The id of a conversation in the HTTP API. Two users may have conversations with the same id, because the server adds the tenant, project
 * and user of the caller.
 */
export const ConversationId = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'letters, digits, "_" and "-", at most 128')

/** A conversation in the list of conversations. */
export const ConversationSummary = z.object({
  id: ConversationId,
  title: z.string().nullable(),
  started_at: z.string().nullable(),
  last_activity_at: z.string().nullable(),
  last_seq: z.int().nonnegative(),
  /** The id of the turn that is running, or that a dead process left open. Null when there is no such turn. */
  open_turn: z.string().nullable(),
  /**
   * Set when the conversation is parked: its turns failed so often that the server tries them again only after a new message or a retry.
   */
  parked: z.literal(true).optional(),
  /**
   * The smallest amount that a budget of the conversation has left. Missing when no budget has a limit. Users see only the budgets of the
   * user and the conversation.
   */
  budget_left: z.object({ tokens: z.number().optional(), money: z.number().optional() }).optional(),
})
export type ConversationSummary = z.infer<typeof ConversationSummary>

/** A parked conversation: its turns failed so often that the server does not try them again by itself. `id` is the id in the store. */
export const ParkedView = z.object({ id: z.string(), at: z.string(), attempts: z.int(), reason: z.string() })
export type ParkedView = z.infer<typeof ParkedView>

/** A page of the parked conversations of all users. */
export const ParkedList = z.object({ parked: z.array(ParkedView), next: z.string().optional() })
export type ParkedList = z.infer<typeof ParkedList>

/**
 * The response to a retry. `retried` is false if there was nothing to retry: the conversation is not parked, and none of its turns has
 * failed.
 */
export const RetryView = z.object({ retried: z.boolean() })
export type RetryView = z.infer<typeof RetryView>

/** A title is one line without control characters. A control character could move the cursor of a terminal or end an HTTP header. */
const Title = z
  .string()
  .trim()
  .min(1)
  .max(maximumTitleLength)
  .regex(/^\P{Cc}*$/u, 'one line, without control characters')

/** The request to create a conversation. If it has no id, the server chooses one. */
export const NewConversation = z.strictObject({ id: ConversationId.optional(), title: Title.optional() })
export type NewConversation = z.infer<typeof NewConversation>

/** The request to change a conversation. */
export const ConversationChange = z.strictObject({ title: Title })
export type ConversationChange = z.infer<typeof ConversationChange>

/** The query that selects conversations for a list. */
export const ConversationQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.string().max(1024).optional(),
  search: z.string().max(200).optional(),
})
export type ConversationQuery = z.input<typeof ConversationQuery>

/** One page of a list of conversations. `next` is the cursor of the next page. The last page has none. */
export const ConversationList = z.object({ conversations: z.array(ConversationSummary), next: z.string().optional() })
export type ConversationList = z.infer<typeof ConversationList>

/** The request to copy a conversation. */
export const ForkRequest = z
  .strictObject({
    id: ConversationId.optional(),
    /** The last turn to copy. By default it is the latest turn that has ended. */
    at_turn: z.string().max(200).optional(),
    /**
     * The last entry to copy. If a tool call had no result at this entry, the copy ends at the last entry before it at which no call was
     * open. A turn that was open is closed as `forked`.
     */
    at_seq: z.int().min(1).max(1e15).optional(),
  })
  .refine(({ at_turn, at_seq }) => at_turn === undefined || at_seq === undefined, { message: 'give `at_turn` or `at_seq`, not both' })
export type ForkRequest = z.infer<typeof ForkRequest>

/** A file that the agent delivered or the user attached. Its bytes are at `/v1/resources/<rn>`. */
export const FileSummary = z.object({
  rn: z.string(),
  filename: z.string(),
  mime: z.string(),
  size_bytes: z.int().nonnegative(),
  turn_id: z.string(),
  logical_path: z.string(),
  ts: z.string(),
  description: z.string().optional(),
  origin: z.enum(['user', 'artifact']),
})
export type FileSummary = z.infer<typeof FileSummary>

export const FileList = z.object({ files: z.array(FileSummary) })
export type FileList = z.infer<typeof FileList>
