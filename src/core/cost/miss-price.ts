import type { CacheRow } from '../cache/cache-report.ts'
import type { CallCost } from './cost.ts'

/**
 * What the tokens of a miss cost in this call, in billionths of a US dollar. Undefined when the price is not known. The provider bills a
 * prompt from its beginning: first what it read, then what it wrote, then the rest. The tokens that it should have read follow directly
 * after those that it did read. The tokens that it should have written follow after those that it wrote.
 */
export function missPrice(
  { miss, predicted, billed }: CacheRow,
  { usage, charge }: Pick<CallCost, 'usage' | 'charge'>,
): number | undefined {
  if (!miss || !charge) return undefined
  const wasNotRead = billed !== undefined && predicted !== undefined && predicted.read > billed.read
  const written = wasNotRead ? Math.min(miss.tokens, usage.cacheWrite) : 0
  const uncached = Math.min(miss.tokens - written, usage.uncached)
  const share = (money: number, tokens: number, all: number) => (all === 0 ? 0 : money * (tokens / all))
  return Math.round(share(charge.cacheWrite, written, usage.cacheWrite) + share(charge.uncached, uncached, usage.uncached))
}
