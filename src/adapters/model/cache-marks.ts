import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Part } from '../../core/render/types.ts'
import type { MarkRules } from './provider-rules.ts'

/**
 * The indices of the parts that get a mark in the request. The flag `cache` of a part asks for a mark. `cachePoints` in
 * core/render/cache-points.ts decides which parts have the flag. This function only adapts the marks to the provider. One mark of the
 * provider's maximum is reserved for the system text. If too many parts have marks, the last marks are kept, because a mark covers
 * everything before it. Some providers find a cached prompt only at a mark (`lookBack` 1). For these, the last mark of the previous call is
 * set again, because the provider has cached the prompt up to it.
 */
export function selectMarks(parts: readonly Part[], rules: MarkRules, previousEnd: number | undefined): ReadonlySet<number> {
  const available = rules.maxMarks - 1
  if (available < 1) return new Set()
  const wanted = parts.flatMap(({ cache }, index) => (cache ? [index] : []))
  const last = wanted.at(-1)
  const repeated = rules.lookBack === 1 && previousEnd !== undefined && last !== undefined && previousEnd < last ? [previousEnd] : []
  return new Set([...new Set([...repeated, ...wanted])].sort((a, b) => a - b).slice(-available))
}

/** The provider options that mark a part. Undefined when the provider caches without marks. */
export type MarkOptions = SharedV4ProviderOptions | undefined

/** The options that mark a part for a model with these rules. `ttlSeconds` is how long the provider keeps the cached prompt. */
export function markOptions(
  { form, ttlSeconds: [defaultTtl] }: MarkRules,
  optionsName: string,
  ttlSeconds: number | undefined,
): MarkOptions {
  switch (form) {
    case 'cache-control': {
      const longer = ttlSeconds !== undefined && ttlSeconds !== defaultTtl
      return { [optionsName]: { cacheControl: { type: 'ephemeral', ...(longer && { ttl: inHours(ttlSeconds) }) } } }
    }
    case 'breakpoint':
      return { [optionsName]: { promptCacheBreakpoint: { mode: 'explicit' } } }
    case 'automatic':
      return undefined
    default:
      return form satisfies never
  }
}

const inHours = (seconds: number) => `${seconds / 3_600}h`

/**
 * Stores, for each conversation, the index of the last marked part of its latest call. Only the `limit` most recent conversations are kept.
 * If a conversation is no longer kept, its next call may miss the cache once.
 */
export function createCacheEnds(limit = 1_000) {
  const ends = new Map<string, number>()
  return {
    get: (conversationId: string): number | undefined => ends.get(conversationId),
    set(conversationId: string, end: number | undefined): void {
      ends.delete(conversationId)
      if (end === undefined) return
      ends.set(conversationId, end)
      for (const oldest of ends.keys()) if (ends.size > limit) ends.delete(oldest)
    },
  }
}
