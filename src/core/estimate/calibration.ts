import type { Timeline } from '../timeline/timeline.ts'

const LOWEST = 0.8
const HIGHEST = 1.5

/**
 * How far off the tokenizer was in the previous call: what the provider billed over what we had estimated. Only the trigger of a
 * compaction is scaled by it; hiding and caps use the raw estimate, so that what they do can be repeated.
 */
export function calibrationOf({ lastResponse }: Pick<Timeline, 'lastResponse'>): number {
  const { usage, prompt } = lastResponse ?? {}
  if (!usage || !prompt?.estimated_tokens) return 1
  return calibrate(usage.uncached + usage.cache_read + usage.cache_write, prompt.estimated_tokens)
}

export function calibrate(reported: number, estimated: number): number {
  const ratio = reported / estimated
  return reported > 0 && Number.isFinite(ratio) ? Math.min(HIGHEST, Math.max(LOWEST, ratio)) : 1
}
