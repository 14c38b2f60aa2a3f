import { z } from 'zod'

/** What `@ag-ui/client` sends: everything that was said so far. Only the last message is new; the rest is in the timeline. */
export const AgUiInput = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
})
export type AgUiInput = z.infer<typeof AgUiInput>

/** What the AI SDK's chat transport sends. What was said cannot be written again: the timeline only grows. */
export const UiMessageInput = z.looseObject({
  trigger: z.literal('submit-message').default('submit-message'),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
})
export type UiMessageInput = z.infer<typeof UiMessageInput>

const TextPart = z.looseObject({ type: z.literal('text'), text: z.string() })

/** A message of a user, in either form: text, or parts that are text. Files are sent as a turn of their own. */
export const UserMessage = z.union([
  z.looseObject({ role: z.literal('user'), content: z.string().max(1_000_000) }).transform(({ content }) => content),
  z.looseObject({ role: z.literal('user'), content: z.array(TextPart).min(1) }).transform(({ content }) => joinTexts(content)),
  z.looseObject({ role: z.literal('user'), parts: z.array(TextPart).min(1) }).transform(({ parts }) => joinTexts(parts)),
])

const joinTexts = (parts: readonly { readonly text: string }[]) => parts.map(({ text }) => text).join('\n')
