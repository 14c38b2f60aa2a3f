import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Part } from '../../core/render/types.ts'
import type { MarkRules } from './provider-rules.ts'

/**
 * The indices of the parts that carry a cache mark in the request. One mark is reserved for the system text. When there are too many,
 * the latest ones are kept, because each mark covers everything before it. Where a provider finds an entry only at a mark
 * (`lookBack` 1), the last mark of the previous call is repeated: the entry was written there.
 */
export function selectMarks(parts: readonly Part[], rules: MarkRules, previousEnd: number | undefined): ReadonlySet<number> {
  const available = rules.maxMarks - 1
  if (available < 1) return new Set()
  const wanted = parts.flatMap(({ cache }, index) => (cache ? [index] : []))
  const last = wanted.at(-1)
  const repeated = rules.lookBack === 1 && previousEnd !== undefined && last !== undefined && previousEnd < last ? [previousEnd] : []
  return new Set([...new Set([...repeated, ...wanted])].sort((a, b) => a - b).slice(-available))
}

/** The provider options that mark a part for one model; undefined when the provider caches without marks. */
export type MarkOptions = SharedV4ProviderOptions | undefined

/** How a cache mark with this time to live is written for a model with these rules. */
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
 * Remembers, for each conversation, the last marked part of its latest call. Keeps the `limit` most recent conversations; for a
 * forgotten one the next call misses the cache once.
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
