import { z } from 'zod'

/** The id of a conversation in the HTTP API. It is unique only within the scope of the caller, which the server adds. */
export const ConversationId = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'letters, digits, "_" and "-", at most 128')

/** What a list shows of a conversation. */
export const ConversationSummary = z.object({
  id: ConversationId,
  title: z.string().nullable(),
  started_at: z.string().nullable(),
  last_activity_at: z.string().nullable(),
  last_seq: z.int().nonnegative(),
  /** The turn that is running or was interrupted by a crash. */
  open_turn: z.string().nullable(),
})
export type ConversationSummary = z.infer<typeof ConversationSummary>

/** A title is one line without control characters: these could move a terminal's cursor or end an HTTP header. */
const Title = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}*$/u, 'one line, without control characters')

/** A conversation to create; the server chooses an id when none is given. */
export const NewConversation = z.strictObject({ id: ConversationId.optional(), title: Title.optional() })
export type NewConversation = z.infer<typeof NewConversation>

/** What can be changed about a conversation. */
export const ConversationChange = z.strictObject({ title: Title })
export type ConversationChange = z.infer<typeof ConversationChange>

/** Which conversations are listed. */
export const ConversationQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.string().max(1024).optional(),
  search: z.string().max(200).optional(),
})
export type ConversationQuery = z.input<typeof ConversationQuery>

/** One page of the list; `next` is the cursor of the next page. */
export const ConversationList = z.object({ conversations: z.array(ConversationSummary), next: z.string().optional() })
export type ConversationList = z.infer<typeof ConversationList>

/** How a conversation is copied. */
export const ForkRequest = z.strictObject({
  id: ConversationId.optional(),
  /** The last turn to copy; by default the latest finished one. */
  at_turn: z.string().max(200).optional(),
})
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
