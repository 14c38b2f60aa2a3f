import type { TokenCounter } from '../core/estimate/tokens.ts'
import { type Bill, billFor, createSegmenter, type ModelCall, runningTotals, type Segment } from './cache-bills.ts'

interface CachedPrompt {
  readonly segments: readonly Segment[]
  readonly goneAt: number
}

/** Automatic caching of the longest common beginning; the rules are told in cache-simulator.ts. */
export function createPrefixCache(options: {
  readonly minimumTokens: number
  readonly ttlSeconds: number
  readonly count: TokenCounter
  readonly blockTokens: number
}) {
  const segmentsOf = createSegmenter(options.count)
  let kept: readonly CachedPrompt[] = []

  return {
    call(request: ModelCall): Bill {
      const segments = segmentsOf(request)
      const total = runningTotals(segments).at(-1) as number
      const goneAt = request.at + options.ttlSeconds
      const live = kept.filter((prompt) => prompt.goneAt > request.at)
      const shared = live.map((prompt) => sharedTokens(prompt.segments, segments, options.count))
      const most = Math.max(0, ...shared)
      const whole = Math.floor(most / options.blockTokens) * options.blockTokens
      const cacheRead = whole >= options.minimumTokens ? whole : 0
      kept = [
        ...live.map((prompt, index) => (cacheRead > 0 && shared[index] === most ? { ...prompt, goneAt } : prompt)),
        ...(total >= options.minimumTokens ? [{ segments, goneAt }] : []),
      ]
      return billFor({ uncached: total - cacheRead, cacheRead, cacheWrite: 0 })
    },
  }
}

function sharedTokens(one: readonly Segment[], other: readonly Segment[], count: TokenCounter): number {
  let tokens = 0
  for (const [index, { content, tokens: weight }] of one.entries()) {
    const beside = other[index]?.content
    if (beside === undefined) break
    if (beside !== content) return tokens + count(sharedText(content, beside))
    tokens += weight
  }
  return tokens
}

/** Bytes of an image are all or nothing. */
function sharedText(one: string, other: string): string {
  if (one.startsWith('\u0000')) return ''
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return one.slice(0, length)
}
