import type { CacheRow } from '../cache/cache-report.ts'
import type { CallCost } from './cost.ts'

/**
 * What the tokens of a miss cost in this call, in billionths of a US dollar. Undefined when the price is not known. The provider bills a
 * prompt from its beginning: first the tokens that it read from its cache, then the tokens that it wrote to it, then the rest. Tokens that
 * it should have read come directly after the tokens that it read. Tokens that it should have written come after the tokens that it wrote.
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
