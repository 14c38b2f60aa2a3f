import { callsInText } from './call-in-text.ts'
import type { ParsedResponse } from './decision.ts'
import { isToolName } from './read-native.ts'
import type { ToolSignatures } from './signature.ts'

// Responses without any channel, in the dialect `channels`.

/** Finds an action in a text. A text with an action is not an answer: the model wants to act, and the user must not read JSON. */
const anyAction = /"(?:tool_call|tool_id)"\s*:|"action"\s*:\s*"(?:call_tool|complete|exit)"/

/** True for a response without any channel tag, without an action, and without a call in another form that models write. */
export const isPlainText = ({ raw, preamble, channels }: ParsedResponse, tools: ToolSignatures | undefined): boolean =>
  channels.length === 0 && preamble === raw && !anyAction.test(raw) && callsInText(raw, (name) => isToolName(name, tools)) === undefined

/** The text without the thinking that some models write before it, between `<think>` and `</think>`. */
export function withoutThinking(text: string): string {
  if (!text.trimStart().startsWith('<think>')) return text
  const end = text.indexOf('</think>')
  return end === -1 ? '' : text.slice(end + '</think>'.length)
}
