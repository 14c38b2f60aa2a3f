/** The attempts to make a prompt shorter. If the prompt is still too long after one attempt, the next attempt removes more. */
export const attempts = [1, 2, 3] as const
export type Attempt = (typeof attempts)[number]

const overflowCodes: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'exceed_context_size_error',
  'model_context_window_exceeded',
  'request_too_large',
  'string_above_max_length',
])

const overflowMessages = [
  /context_length/i,
  /maximum context/i,
  /prompt is too long/i,
  /exceeds? (?:the )?context (?:limit|window|length)/i,
  /too many (?:input )?tokens/i,
  /input (?:is )?too long/i,
  /input token count.{0,40}exceeds/i,
  /exceeds the maximum number of (?:input )?tokens/i,
  /context window/i,
]

/** Messages about limits that have nothing to do with the length of the prompt. */
const otherLimits = [/rate.?limit/i, /per (?:minute|min|day|hour)\b/i, /\bquota\b/i, /output tokens/i, /completion tokens/i]

/**
 * True when the provider rejected the prompt as too long. A known error code is sufficient. If the code is missing or not known, the text
 * of the message decides.
 */
export function isContextOverflow(message: string, code?: string): boolean {
  if (code !== undefined && overflowCodes.has(code)) return true
  return overflowMessages.some((pattern) => pattern.test(message)) && !otherLimits.some((pattern) => pattern.test(message))
}
