import type { ModelUsage } from '../model-event.ts'
import type { ResponseReceived } from '../timeline/change.ts'
import { roughTokens } from '../tokens.ts'

/** The provider failed before it said anything. */
export const isFree = ({ usage, raw, finish_reason }: ResponseReceived): boolean =>
  usage === undefined && raw === '' && finish_reason === 'error'

/** A call without a bill, because it was broken off or nobody sent one, had a cost all the same: what was sent, and what had come back. */
export function usageOf({ usage, raw, prompt }: ResponseReceived): ModelUsage {
  if (!usage) return { uncached: prompt?.estimated_tokens ?? 0, cacheRead: 0, cacheWrite: 0, output: roughTokens(raw), reasoning: 0 }
  const { uncached, cache_read: cacheRead, cache_write: cacheWrite, cache_write_long: cacheWriteLong, output, reasoning = 0 } = usage
  return { uncached, cacheRead, cacheWrite, ...(cacheWriteLong !== undefined && { cacheWriteLong }), output, reasoning }
}
