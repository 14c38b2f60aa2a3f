/** How hard to try: the share of the budget that stays, one per attempt. Attempts follow a prompt the provider found too long. */
export const keepShares = [0.7, 0.35, 0.17] as const
export type Attempt = 1 | 2 | 3

const codes: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'exceed_context_size_error',
  'model_context_window_exceeded',
  'request_too_large',
  'string_above_max_length',
])

const signs = [
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

/** Waiting or asking for less output would help here; a shorter prompt would not. */
const otherLimits = [/rate.?limit/i, /per (?:minute|min|day|hour)\b/i, /\bquota\b/i, /output tokens/i, /completion tokens/i]

/** Whether the provider refused the prompt for its length: by its code if it gives one we know, else by its words. */
export function isContextOverflow(message: string, code?: string): boolean {
  if (code !== undefined && codes.has(code)) return true
  return signs.some((sign) => sign.test(message)) && !otherLimits.some((limit) => limit.test(message))
}
