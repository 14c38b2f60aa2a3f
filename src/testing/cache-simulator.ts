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

/** A simulated prompt cache. It stores the prompts that `call` gets. */
export interface CacheSimulator {
  /**
   * Returns the token counts and cost of one call. Calls must be in the order of their times. Throws when the provider would reject the
   * marks.
   */
  call(call: ModelCall): Bill
}

/** Options of `createCacheSimulator`. */
export interface CacheSimulatorOptions {
  readonly kind: 'anthropic' | 'prefix'
  readonly minimumTokens: number
  readonly ttlSeconds: number
  readonly count: TokenCounter
  /**
   * Only for `anthropic`: how many parts are checked for a cache entry, from a mark backwards and including the marked part. Default: 20.
   * Set it to 1 to simulate models of OpenAI that have marks.
   */
  readonly lookBack?: number
  /** Only for `prefix`: the cache stores prompts in blocks of this many tokens. Default: 128. */
  readonly blockTokens?: number
}

/**
 * Simulates the prompt cache of a provider. At first the cache is empty. Call it with the prompts of a conversation in order. Each call
 * returns how many tokens were read from the cache, written to it, or neither (uncached). So a test can check that a change of the prompt
 * does not invalidate the cache:
 *
 *   const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 1_024, ttlSeconds: 300, count: roughTokens })
 *   const first = cache.call({ system, parts: round1.parts, at: 0 })
 *   const second = cache.call({ system, parts: round2.parts, at: 20 })
 *   expect(second.cacheWrite).toBeLessThan(2_000)
 *
 * The two kinds follow the documentation of the providers ("Prompt caching" at platform.claude.com and developers.openai.com). A prefix is
 * the beginning of a prompt, up to the end of one of its parts.
 *
 * The kind `anthropic` needs marks, at most 4 in a request. The system text takes one of them. These are the documented rules:
 * - A cache entry is written only at a mark. It is for exactly the prefix that ends at the mark. Two prefixes are equal if they have the
 *   same parts with the same content. Other marks in them make no difference.
 * - A read starts at each mark and goes back over at most 20 parts, including the marked part. It looks for an entry that ends at one of
 *   these parts. It does not find an entry further back.
 * - A prefix shorter than the minimum of the model (512 to 4,096 tokens) is not cached. This causes no error.
 * - An entry expires 5 minutes or an hour after its last use.
 * - A token that is read costs 0.1 of the input price. A token that is written costs 1.25 (5 minutes) or 2 (an hour).
 *
 * The simulation differs from these rules. These differences make the simulated cost too high:
 * - Every part counts as one step back. Anthropic counts consecutive tool calls or tool results as one step, but Daybook sends none.
 * - A mark inside the prefix that was read writes no entry.
 *
 * These differences make the simulated cost too low:
 * - Writing always costs 1.25, even when entries live for an hour.
 * - Adding an image does not invalidate entries before the image.
 * - An entry can be read by the next call, without a delay. Anthropic's entries can be read only after the response to the first request
 *   has begun.
 *
 * The kind `prefix` is automatic and ignores marks. It reads the longest beginning that the prompt has in common with an earlier prompt, in
 * whole blocks of tokens. OpenAI has blocks of 128 tokens and a minimum of 1,024 tokens. All other tokens are uncached, and writing costs
 * nothing. Newer models of OpenAI have marks and charge 1.25 for writing. Use `anthropic` for them.
 */
export function createCacheSimulator(options: CacheSimulatorOptions): CacheSimulator {
  return options.kind === 'anthropic' ? createMarkCache(options) : createPrefixCache({ blockTokens: 128, ...options })
}

const maxMarks = 4
/** How many parts are checked for a cache entry, from a mark backwards and including the marked part. */
const defaultLookBack = 20

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

/**
 * The longest beginning that both contents have in common. It is empty for an image or document, because the cache compares these only as a
 * whole.
 */
function sharedText(one: string, other: string): string {
  if (one.startsWith('\u0000')) return ''
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return one.slice(0, length)
}
