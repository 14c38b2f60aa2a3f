import { z } from 'zod'

/**
 * What a message does while a turn is running: `followup` is added to the turn, `steer` interrupts the round, `wrap_up` asks the turn to
 * finish. If no turn is running, the message starts one.
 */
export const SubmitMode = z.enum(['followup', 'steer', 'wrap_up'])

export const UploadBody = z.strictObject({
  name: z.string().min(1).max(1024),
  mime: z.string().max(200).optional(),
  base64: z.string(),
})
export type UploadBody = z.infer<typeof UploadBody>

/** The JSON body of a new message. A multipart body has the fields `text`, `mode` and any number of `files` instead. */
export const TurnSubmission = z.strictObject({
  text: z.string().max(1_000_000).default(''),
  mode: SubmitMode.default('followup'),
  attachments: z.array(UploadBody).max(20).default([]),
})
export type TurnSubmission = z.input<typeof TurnSubmission>

/** The response to a message, sent when it is stored. The turn may not have started yet; the event stream shows its progress. */
export const TurnAccepted = z.object({
  status: z.enum(['processing_started', 'followup_accepted', 'steer_accepted', 'already_accepted']),
  conversation_id: z.string(),
  /** The turn that the message belongs to. A followup that arrives after the last round of its turn starts a new turn. */
  turn_id: z.string().nullable(),
  event_id: z.string(),
})
export type TurnAccepted = z.infer<typeof TurnAccepted>

/** The response to a stop request. `stopped` says whether a turn was running. */
export const StopAccepted = z.object({ stopped: z.boolean() })
export type StopAccepted = z.infer<typeof StopAccepted>

/** An opinion about a past turn. */
export const FeedbackBody = z.strictObject({
  turn_id: z.string().min(1).max(200),
  reaction: z.enum(['ok', 'not_ok', 'neutral']).optional(),
  text: z.string().max(10_000).optional(),
})
export type FeedbackBody = z.infer<typeof FeedbackBody>

/** The request of `@ag-ui/client`. It holds all messages so far, but only the last one is used: the others are already in the timeline. */
export const AgUiInput = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
})
export type AgUiInput = z.infer<typeof AgUiInput>

/** The request of the AI SDK's chat transport. Only new messages are supported; an earlier answer can not be regenerated. */
export const UiMessageInput = z.looseObject({
  trigger: z.literal('submit-message').default('submit-message'),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
})
export type UiMessageInput = z.infer<typeof UiMessageInput>

const TextPart = z.looseObject({ type: z.literal('text'), text: z.string() })

/** A user message from `AgUiInput` or `UiMessageInput`, as text. Parts other than text are rejected: files are uploaded with a turn. */
export const UserMessage = z.union([
  z.looseObject({ role: z.literal('user'), content: z.string().max(1_000_000) }).transform(({ content }) => content),
  z.looseObject({ role: z.literal('user'), content: z.array(TextPart).min(1) }).transform(({ content }) => joinTexts(content)),
  z.looseObject({ role: z.literal('user'), parts: z.array(TextPart).min(1) }).transform(({ parts }) => joinTexts(parts)),
])

const joinTexts = (parts: readonly { readonly text: string }[]) => parts.map(({ text }) => text).join('\n')
