import { z } from 'zod'

/**
 * What a message does while a turn is running:
 * - `followup`: the turn reads the message before its next decision.
 * - `steer`: the message interrupts the round.
 * - `wrap_up`: the message asks the turn to finish.
 *
 * If no turn is running, the message starts one in every mode.
 */
export const SubmitMode = z.enum(['followup', 'steer', 'wrap_up'])

export const UploadBody = z.strictObject({
  name: z.string().min(1).max(1024),
  mime: z.string().max(200).optional(),
  base64: z.string(),
})
export type UploadBody = z.infer<typeof UploadBody>

/**
 * Options that hold for the turn which the message starts. `model` is a name from the option `models` of the agent. `tools` are the ids of
 * the tools that can be called. `ask` are the tools whose calls wait for the approval of a person. `output` is the JSON Schema of the
 * output, without patterns. Other options of a run are not accepted, because clients could exceed limits of the operator with them.
 */
export const TurnOptionsBody = z.strictObject({
  model: z.string().max(200).optional(),
  tools: z.array(z.string().max(200)).max(1_000).optional(),
  ask: z.array(z.string().max(200)).max(100).optional(),
  output: z.record(z.string(), z.unknown()).optional(),
})
export type TurnOptionsBody = z.infer<typeof TurnOptionsBody>

/**
 * The JSON body of a new message. A message can also be sent as a multipart body with the fields `text`, `mode`, `options` (as JSON)
 * and any number of `files`.
 */
export const TurnSubmission = z.strictObject({
  text: z.string().max(1_000_000).default(''),
  mode: SubmitMode.default('followup'),
  attachments: z.array(UploadBody).max(20).default([]),
  options: TurnOptionsBody.optional(),
})
export type TurnSubmission = z.input<typeof TurnSubmission>

/** The response to a message. It is sent when the message is stored, which may be before the turn starts. */
export const TurnAccepted = z.object({
  status: z.enum(['processing_started', 'followup_accepted', 'steer_accepted', 'already_accepted']),
  conversation_id: z.string(),
  /**
   * The turn that will read the message. A followup that arrives too late for this turn starts a new turn instead. Null when the server
   * does not know the turn, for example after a steer.
   */
  turn_id: z.string().nullable(),
  event_id: z.string(),
})
export type TurnAccepted = z.infer<typeof TurnAccepted>

/** The new text of a message that waits. */
export const MessageChange = z.strictObject({ text: z.string().min(1).max(1_000_000) })
export type MessageChange = z.infer<typeof MessageChange>

/**
 * What became of a message that was taken back or changed. `recorded`: the request is stored, and the process that runs the conversation
 * handles it later.
 */
export const WithdrawalView = z.object({ status: z.enum(['done', 'recorded']) })
export type WithdrawalView = z.infer<typeof WithdrawalView>

/** The turn that answers a message is not closed yet. */
export const MessagePending = z.object({ status: z.literal('pending') })
export type MessagePending = z.infer<typeof MessagePending>

/** What became of a request to change a message. `event_id` is the id of the message with the new text. */
export const ChangedMessageView = WithdrawalView.extend({ event_id: z.string() })
export type ChangedMessageView = z.infer<typeof ChangedMessageView>

/** The response to a stop request. `stopped` tells whether a turn was running. */
export const StopAccepted = z.object({ stopped: z.boolean() })
export type StopAccepted = z.infer<typeof StopAccepted>

/** The feedback of a user on an earlier turn. */
export const FeedbackBody = z.strictObject({
  turn_id: z.string().min(1).max(200),
  reaction: z.enum(['ok', 'not_ok', 'neutral']).optional(),
  text: z.string().max(10_000).optional(),
})
export type FeedbackBody = z.infer<typeof FeedbackBody>

/**
 * The request of `@ag-ui/client`. It contains all messages of the conversation. Only the last message is used, because the timeline
 * contains the others.
 */
export const AgUiInput = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
})
export type AgUiInput = z.infer<typeof AgUiInput>

/** The request of the AI SDK's chat transport. It can only send a new message. A request to regenerate an earlier answer is rejected. */
export const UiMessageInput = z.looseObject({
  trigger: z.literal('submit-message').default('submit-message'),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
})
export type UiMessageInput = z.infer<typeof UiMessageInput>

const TextPart = z.looseObject({ type: z.literal('text'), text: z.string() })

/**
 * The text of a user message from `AgUiInput` or `UiMessageInput`. A message with other parts than text is rejected. Files can be sent as
 * attachments of a `TurnSubmission`.
 */
export const UserMessage = z.union([
  z.looseObject({ role: z.literal('user'), content: z.string().max(1_000_000) }).transform(({ content }) => content),
  z.looseObject({ role: z.literal('user'), content: z.array(TextPart).min(1) }).transform(({ content }) => joinTexts(content)),
  z.looseObject({ role: z.literal('user'), parts: z.array(TextPart).min(1) }).transform(({ parts }) => joinTexts(parts)),
])

const joinTexts = (parts: readonly { readonly text: string }[]) => parts.map(({ text }) => text).join('\n')
