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
 * Simulates the prompt cache of a provider. Give it the prompts of a conversation in order; for each it returns how many tokens were
 * read from the cache, written to it, or paid in full. Use it to test that a change of prompt, marks or tools keeps the cache useful:
 *
 *   const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 1_024, ttlSeconds: 300, count: roughTokens })
 *   const first = cache.call({ system, parts: round1.parts, at: 0 })
 *   const second = cache.call({ system, parts: round2.parts, at: 20 })
 *   expect(second.cacheWrite).toBeLessThan(2_000)
 *
 * Two kinds, as the providers document them (platform.claude.com "Prompt caching"; developers.openai.com "Prompt caching"):
 *
 * `anthropic`: explicit marks, at most 4 in a request (the system text takes one; tools come before it). Documented:
 *   - An entry is written only at a mark, for the exact prefix that ends there: its content and how it is cut into parts, but not
 *     the positions of other marks.
 *   - A read looks back from each mark over at most 20 positions, including the mark, for an entry written earlier. Entries further
 *     back are not found, even if the bytes are equal.
 *   - A prefix below the model's minimum (512 to 4,096 tokens) is silently not cached.
 *   - An entry lives 5 minutes or an hour after its last use. Reading costs 0.1 of the input price (a few models less), writing
 *     1.25 (5 minutes) or 2 (an hour).
 *   The simulation costs more than documented in two cases: every part is a position of its own (Anthropic counts a run of tool uses
 *   or tool results as one, but these prompts have only text, images and documents), and a mark inside the prefix that was read writes
 *   no entry. It costs less in two cases: adding an image invalidates nothing before it, and an entry can be read at once instead of
 *   when the response begins.
 *
 * `prefix`: automatic. The longest common prefix with an earlier prompt that has not expired is read, in whole blocks of tokens
 * (OpenAI: 128, from 1,024 on); the rest is paid in full, and writing costs nothing. Marks are ignored. (Newer OpenAI models bill
 * writes at 1.25 and take marks; simulate those with `anthropic`.)
 *
 * Costs are in tokens at the input price. `at` is in seconds and must not decrease.
 */
export interface CacheSimulator {
  /** The bill of one call. Throws when the provider would reject its marks. */
  call(call: ModelCall): Bill
}

/** Which provider's cache is simulated. */
export interface CacheSimulatorOptions {
  readonly kind: 'anthropic' | 'prefix'
  readonly minimumTokens: number
  readonly ttlSeconds: number
  readonly count: TokenCounter
  /** Only for `anthropic`: how many parts a read looks back. 1: only at the mark itself, as with OpenAI's breakpoints. */
  readonly lookBack?: number
  /** Only for `prefix`: tokens in a block. Default: 128. */
  readonly blockTokens?: number
}

/** Makes an empty cache. */
export function createCacheSimulator(options: CacheSimulatorOptions): CacheSimulator {
  return options.kind === 'anthropic' ? createMarkCache(options) : createPrefixCache({ blockTokens: 128, ...options })
}

const maxMarks = 4
/** How many parts a read looks back, including the marked one. */
const defaultLookBack = 20

/** The kind `anthropic`: explicit marks with a limited look-back. */
function createMarkCache(options: {
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
      const expiresAt = request.at + options.ttlSeconds
      const hit = Math.max(-1, ...marks.map((mark) => latestLiveEntry(nodes, mark, request.at, lookBack)))

      let written = hit
      for (const [index, node] of nodes.entries()) {
        const reads = index === hit || (index < hit && segments[index]?.marked && isLive(node, request.at))
        const writes = index > hit && segments[index]?.marked && (totals[index + 1] as number) >= options.minimumTokens
        if (reads || writes) node.expiresAt = expiresAt
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
  const empty = marks.find((index) => segments[index]?.content === '')
  if (empty !== undefined) throw new RangeError(`Part ${empty} is empty: it can not carry a cache mark.`)
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
  readonly expiresAt: number
}

/** The kind `prefix`: automatic caching of the longest common prefix. */
function createPrefixCache(options: {
  readonly minimumTokens: number
  readonly ttlSeconds: number
  readonly count: TokenCounter
  readonly blockTokens: number
}) {
  const segmentsOf = createSegmenter(options.count)
  let cached: readonly CachedPrompt[] = []

  return {
    call(request: ModelCall): Bill {
      const segments = segmentsOf(request)
      const total = runningTotals(segments).at(-1) as number
      const expiresAt = request.at + options.ttlSeconds
      const live = cached.filter((prompt) => prompt.expiresAt > request.at)
      const shared = live.map((prompt) => sharedTokens(prompt.segments, segments, options.count))
      const longest = Math.max(0, ...shared)
      const wholeBlocks = Math.floor(longest / options.blockTokens) * options.blockTokens
      const cacheRead = wholeBlocks >= options.minimumTokens ? wholeBlocks : 0
      cached = [
        ...live.map((prompt, index) => (cacheRead > 0 && shared[index] === longest ? { ...prompt, expiresAt } : prompt)),
        ...(total >= options.minimumTokens ? [{ segments, expiresAt }] : []),
      ]
      return billFor({ uncached: total - cacheRead, cacheRead, cacheWrite: 0 })
    },
  }
}

function sharedTokens(one: readonly Segment[], other: readonly Segment[], count: TokenCounter): number {
  let tokens = 0
  for (const [index, segment] of one.entries()) {
    const otherContent = other[index]?.content
    if (otherContent === undefined) break
    if (otherContent !== segment.content) return tokens + count(sharedText(segment.content, otherContent))
    tokens += segment.tokens
  }
  return tokens
}

/** The common prefix of two texts. Images match whole or not at all. */
function sharedText(one: string, other: string): string {
  if (one.startsWith('\u0000')) return ''
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return one.slice(0, length)
}
