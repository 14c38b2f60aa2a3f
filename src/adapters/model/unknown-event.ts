import { isObject } from '../../core/json.ts'

const events: ReadonlySet<unknown> = new Set([
  ...['message_start', 'message_delta', 'message_stop', 'ping', 'error'],
  ...['content_block_start', 'content_block_delta', 'content_block_stop'],
])
const blocks: ReadonlySet<unknown> = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use'])
const deltas: ReadonlySet<unknown> = new Set(['text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta'])

/**
 * Whether an error only says that the package of Anthropic does not know a kind of event, block or delta. Anthropic may add new kinds, and
 * its documentation says that clients should ignore unknown ones. The stream continues after such an error.
 */
export function isUnknownEvent(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'AI_TypeValidationError' || !('value' in error) || !isObject(error.value)) return false
  const { type, content_block: block, delta } = error.value
  if (typeof type !== 'string') return false
  if (type === 'content_block_start') return isObject(block) && !blocks.has(block.type)
  if (type === 'content_block_delta') return isObject(delta) && !deltas.has(delta.type)
  return !events.has(type)
}
