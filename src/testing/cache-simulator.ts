import type { TokenCounter } from '../core/estimate/tokens.ts'
import {
  type Bill,
  billFor,
  createPrefixTree,
  createSegmenter,
  type ModelCall,
  type PrefixNode,
  runningTotals,
  type Segment,
  walkPrefixes,
} from './cache-bills.ts'

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

const maxMarks = 4
/** Parts looked at from each mark backwards, the marked one included. */
const defaultLookBack = 20

/** Explicit marks with a bounded look-back; the rules are told in cache-simulator.ts. */
export function createMarkCache(options: {
  readonly minimumTokens: number
  readonly ttlSeconds: number
  readonly count: TokenCounter
  readonly lookBack?: number
}) {
  const lookBack = options.lookBack ?? defaultLookBack
  const segmentsOf = createSegmenter(options.count)
  const root = createPrefixTree()

  return {
    call(request: ModelCall): Bill {
      const segments = segmentsOf(request)
      const marks = markedParts(segments)
      const nodes = walkPrefixes(root, segments.slice(0, (marks.at(-1) ?? -1) + 1))
      const totals = runningTotals(segments)
      const goneAt = request.at + options.ttlSeconds
      const hit = Math.max(-1, ...marks.map((mark) => latestLiveEntry(nodes, mark, request.at, lookBack)))

      let written = hit
      for (const [index, node] of nodes.entries()) {
        const read = index === hit || (index < hit && segments[index]?.marked && isLive(node, request.at))
        const writes = index > hit && segments[index]?.marked && (totals[index + 1] as number) >= options.minimumTokens
        if (read || writes) node.expiresAt = goneAt
        if (writes) written = index
      }
      const cacheRead = totals[hit + 1] as number
      const cached = totals[written + 1] as number
      return billFor({ uncached: (totals.at(-1) as number) - cached, cacheRead, cacheWrite: cached - cacheRead })
    },
  }
}

function markedParts(segments: readonly Segment[]): readonly number[] {
  const marks = segments.flatMap(({ marked }, index) => (marked ? [index] : []))
  if (marks.length > maxMarks) throw new RangeError(`A request may carry ${maxMarks} cache marks, this one has ${marks.length}.`)
  const silent = marks.find((index) => segments[index]?.content === '')
  if (silent !== undefined) throw new RangeError(`Part ${silent} is empty: it can not carry a cache mark.`)
  return marks
}

const isLive = (node: PrefixNode | undefined, at: number) => node?.expiresAt !== undefined && node.expiresAt > at

function latestLiveEntry(nodes: readonly PrefixNode[], mark: number, at: number, lookBack: number): number {
  for (let index = mark; index >= 0 && index > mark - lookBack; index--) {
    if (isLive(nodes[index], at)) return index
  }
  return -1
}

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
