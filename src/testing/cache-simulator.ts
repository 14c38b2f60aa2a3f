import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Bill, ModelCall } from './cache-bills.ts'
import { createMarkCache } from './cache-simulator-marks.ts'
import { createPrefixCache } from './cache-simulator-prefix.ts'

/**
 * What a provider's prompt cache would bill, without a provider. Give it the prompts of a conversation in order; it says how many
 * tokens of each were read from the cache, written to it, or paid in full. Use it to prove that a change of prompt, of marks or of
 * tools does not cost you the cache:
 *
 *   const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 1_024, ttlSeconds: 300, count: roughTokens })
 *   const first = cache.call({ system, parts: round1.parts, at: 0 })
 *   const second = cache.call({ system, parts: round2.parts, at: 20 })
 *   expect(second.cacheWrite).toBeLessThan(2_000)
 *
 * Two kinds, by what the providers document (platform.claude.com "Prompt caching"; developers.openai.com "Prompt caching"):
 *
 * `anthropic`: explicit marks, at most 4 in a request (the system text takes one, tools lie before it). Documented:
 *   - An entry is written only at a mark, for the exact prefix that ends there: contents and their cuts into parts. Where other
 *     marks sit is no part of it.
 *   - A read looks back from each mark over at most 20 positions, the mark being the first, for an entry written earlier. Further
 *     back nothing is found, however equal the bytes.
 *   - A prefix below the model's minimum (512 to 4,096 tokens) is not cached, and nobody says so.
 *   - An entry lives 5 minutes or an hour after its last use. Reading costs 0.1 of the input price (a few models less), writing
 *     1.25 (5 minutes) or 2 (an hour).
 *   Ours, and dearer than documented where they differ: every part is a position of its own (a provider counts a run of tool uses,
 *   or of tool results, as one; these prompts hold text, images and documents only), and a mark inside what was read writes no entry.
 *   Ours, and cheaper: an image changes nothing before it (the documents' table of what invalidates names images anywhere in a
 *   prompt), and an entry can be read at once (there, when the response begins).
 *
 * `prefix`: automatic. The longest beginning that a live earlier prompt shares, in whole blocks of tokens (OpenAI: 128, from 1,024
 * on), is read; the rest is paid in full and writing costs nothing. Marks are ignored. (Newer OpenAI models bill writes at 1.25
 * and take marks, too; with those, count as for `anthropic`.)
 *
 * Costs are in tokens at the input price. `at` is in seconds. Time never goes back.
 */
export interface CacheSimulator {
  call(call: ModelCall): Bill
}

export interface CacheSimulatorOptions {
  readonly kind: 'anthropic' | 'prefix'
  readonly minimumTokens: number
  readonly ttlSeconds: number
  readonly count: TokenCounter
  /** Only for `anthropic`: how far a read looks back. 1: only where a mark stands, as OpenAI's breakpoints do. */
  readonly lookBack?: number
  /** Only for `prefix`. */
  readonly blockTokens?: number
}

export function createCacheSimulator(options: CacheSimulatorOptions): CacheSimulator {
  return options.kind === 'anthropic' ? createMarkCache(options) : createPrefixCache({ blockTokens: 128, ...options })
}
