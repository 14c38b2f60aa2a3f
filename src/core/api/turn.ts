import { z } from 'zod'

/**
 * What a message does while a turn is running:
 * - `followup`: the turn reads the message before its next decision.
 * - `steer`: the message interrupts the current round of the turn.
 * - `wrap_up`: the message asks the turn to finish.
 *
 * If no turn is running, the message starts a turn, whatever the mode is.
 */
export const SubmitMode = z.enum(['followup', 'steer', 'wrap_up'])

export const UploadBody = z.strictObject({
  name: z.string().min(1).max(1024).describe('The name of the file.'),
  mime: z.string().max(200).optional().describe('The media type. If it is missing, the server detects it.'),
  base64: z.string(),
})
export type UploadBody = z.infer<typeof UploadBody>

/**
 * Options for the turn that the message starts. `model` is a name from the option `models` of the agent. `tools` are the ids of the tools
 * that can be called. `ask` are the tools whose calls wait for the approval of a person. `output` is the JSON Schema of the output, without
 * patterns. No other options of `agent.run` are accepted, because a client could use them to exceed limits that the operator has set.
 */
export const TurnOptionsBody = z.strictObject({
  model: z.string().max(200).optional().describe('A name from the option `models` of the agent.'),
  tools: z.array(z.string().max(200)).max(1_000).optional().describe('The ids of the tools that can be called.'),
  ask: z
    .array(z.string().max(200))
    .max(100)
    .optional()
    .describe('The tools whose calls wait for the approval of a person, such as `mail.*`.'),
  output: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The JSON Schema of the structured output, without `pattern`, `patternProperties` and `format`.'),
})
export type TurnOptionsBody = z.infer<typeof TurnOptionsBody>

/**
 * The JSON body of a new message. A message can also be sent as a multipart body with the fields `text`, `mode`, `options` (as JSON)
 * and any number of `files`.
 */
export const TurnSubmission = z.strictObject({
  text: z.string().max(1_000_000).default('').describe('The message.'),
  mode: SubmitMode.default('followup').describe(
    'The effect of the message on a turn that is running. `followup`: the turn reads the message before its next decision. `steer`: the message interrupts the turn. `wrap_up`: the message asks the turn to finish.',
  ),
  attachments: z
    .array(UploadBody)
    .max(20)
    .default([])
    .describe('Files in Base64. A request with a form (`multipart/form-data`) can send files in the field `files` instead.'),
  options: TurnOptionsBody.optional().describe('Options of the turn that the message starts: `model`, `tools`, `ask` and `output`.'),
})
export type TurnSubmission = z.input<typeof TurnSubmission>

/** The response to a message. It is sent when the message is stored, which may be before the turn starts. */
export const TurnAccepted = z.object({
  status: z
    .enum(['processing_started', 'followup_accepted', 'steer_accepted', 'already_accepted'])
    .describe('The effect of the message. `already_accepted`: the message was accepted before, or it stops a turn and no turn is running.'),
  conversation_id: z.string().describe('The id of the conversation.'),
  turn_id: z
    .string()
    .nullable()
    .describe(
      'The turn that will read the message. A followup that this turn does not read before it ends starts a new turn. Null when the server does not know the turn, for example after a steer.',
    ),
  event_id: z.string().describe('The id of the message.'),
})
export type TurnAccepted = z.infer<typeof TurnAccepted>

/** The new text of a message that no turn has read yet. */
export const MessageChange = z.strictObject({ text: z.string().min(1).max(1_000_000).describe('The new text.') })
export type MessageChange = z.infer<typeof MessageChange>

/**
 * The response to a request to withdraw or change a message. `done`: the message was withdrawn or changed. `recorded`: the request is
 * stored, and the process that runs the conversation handles it later.
 */
export const WithdrawalView = z.object({
  status: z
    .enum(['done', 'recorded'])
    .describe(
      '`done`: the message was withdrawn or changed. `recorded`: the request is stored, and the process that runs the conversation handles it later.',
    ),
})
export type WithdrawalView = z.infer<typeof WithdrawalView>

/** The response to a request for the result of a message, while the turn that answers the message is not closed yet. */
export const MessagePending = z.object({
  status: z
    .enum(['pending', 'waiting'])
    .describe('`waiting` if the turn waits, for example for an approval: see `GET …/waiting`. `pending` in all other cases.'),
})
export type MessagePending = z.infer<typeof MessagePending>

/** The response to a request to change a message. `event_id` is the id of the message with the new text. */
export const ChangedMessageView = WithdrawalView.extend({ event_id: z.string().describe('The id of the message with the new text.') })
export type ChangedMessageView = z.infer<typeof ChangedMessageView>

/** The response to a stop request. `stopped` tells whether a turn was running. */
export const StopAccepted = z.object({ stopped: z.boolean().describe('Whether a turn was running.') })
export type StopAccepted = z.infer<typeof StopAccepted>

/** The feedback of a user on an earlier turn. */
export const FeedbackBody = z.strictObject({
  turn_id: z.string().min(1).max(200).describe('The turn that the feedback is about.'),
  reaction: z.enum(['ok', 'not_ok', 'neutral']).optional().describe('What the user thinks of the turn.'),
  text: z.string().max(10_000).optional().describe('What the user says about the turn.'),
})
export type FeedbackBody = z.infer<typeof FeedbackBody>

/**
 * The request of `@ag-ui/client`. It contains all messages of the conversation. Only the last message is used, because the timeline
 * already contains the earlier messages.
 */
export const AgUiInput = z.looseObject({
  messages: z
    .array(z.looseObject({ role: z.string() }))
    .min(1)
    .describe('The messages of the conversation. Only the last one is read.'),
})
export type AgUiInput = z.infer<typeof AgUiInput>

/** The request of the AI SDK's chat transport. It can only send a new message. A request to regenerate an earlier answer is rejected. */
export const UiMessageInput = z.looseObject({
  trigger: z
    .literal('submit-message')
    .default('submit-message')
    .describe('Only `submit-message` is accepted: a request can only send a new message.'),
  messages: z
    .array(z.looseObject({ role: z.string() }))
    .min(1)
    .describe('The messages of the conversation. Only the last one is read.'),
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
