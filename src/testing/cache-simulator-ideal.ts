import type { TokenCounter } from '../core/estimate/tokens.ts'
import { type Bill, billFor, createSegmenter, type ModelCall, sumBills } from './cache-bills.ts'
import { createPrefixTree, walkPrefixes } from './cache-simulator-tree.ts'

export interface LayeredCall extends ModelCall {
  /** How many of the parts, from the first, may be sent again as they are. What follows them is new in every call. */
  readonly stableParts: number
}

/**
 * The least that any plan of marks could pay: each stable token is written once, when it first appears, and read in every later
 * call; what is not stable is paid in full. No minimum, no end of life, no bounded look-back.
 */
export function idealBill(calls: readonly LayeredCall[], count: TokenCounter): Bill {
  const segmentsOf = createSegmenter(count)
  const root = createPrefixTree()
  return sumBills(
    calls.map((call) => {
      const segments = segmentsOf(call)
      const stable = segments.length - call.parts.length + call.stableParts
      const tokens = { uncached: 0, cacheRead: 0, cacheWrite: 0 }
      for (const [index, node] of walkPrefixes(root, segments.slice(0, stable)).entries()) {
        tokens[node.expiresAt === undefined ? 'cacheWrite' : 'cacheRead'] += segments[index]?.tokens ?? 0
        node.expiresAt = Number.POSITIVE_INFINITY
      }
      for (const segment of segments.slice(stable)) tokens.uncached += segment.tokens
      return billFor(tokens)
    }),
  )
}

/** Everything in full, every time. */
export function uncachedBill(calls: readonly ModelCall[], count: TokenCounter): Bill {
  const segmentsOf = createSegmenter(count)
  const uncached = calls.reduce((sum, call) => sum + segmentsOf(call).reduce((tokens, segment) => tokens + segment.tokens, 0), 0)
  return billFor({ uncached, cacheRead: 0, cacheWrite: 0 })
}
