import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Part } from '../core/render/types.ts'

/** The prompt of a model call, and the time of the call. */
export interface ModelCall {
  readonly system: string
  readonly parts: readonly Part[]
  /** The time of the call in seconds. Only differences between calls matter. */
  readonly at: number
}

/** The input tokens of a call. Each token is in one of three buckets. `cost` is the number of uncached tokens that would cost as much. */
export interface Bill {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly cost: number
}

/** The price of a token in each bucket. The price of an uncached input token is 1. */
export const rates = { uncached: 1, cacheRead: 0.1, cacheWrite: 1.25 } as const

/** A bill with these token counts and their cost. */
export function billFor(tokens: Omit<Bill, 'cost'>): Bill {
  const cost = tokens.uncached * rates.uncached + tokens.cacheRead * rates.cacheRead + tokens.cacheWrite * rates.cacheWrite
  return { ...tokens, cost }
}

export function sumBills(bills: readonly Bill[]): Bill {
  const sum = (pick: (bill: Bill) => number) => bills.reduce((total, bill) => total + pick(bill), 0)
  return billFor({ uncached: sum((b) => b.uncached), cacheRead: sum((b) => b.cacheRead), cacheWrite: sum((b) => b.cacheWrite) })
}

/** A request is a list of segments for the cache. The system text is the first segment, and each part is another one. */
export interface Segment {
  /** The cache compares segments by their content only, not by their marks. */
  readonly content: string
  readonly tokens: number
  readonly marked: boolean
}

const tokensOfBinary = 1_600

/** Returns a function that splits calls into segments. It remembers token counts, because every call repeats the earlier texts. */
export function createSegmenter(count: TokenCounter): (call: Pick<ModelCall, 'system' | 'parts'>) => readonly Segment[] {
  const counts = new Map<string, number>()
  const tokensOf = (text: string) => {
    const tokens = counts.get(text) ?? count(text)
    counts.set(text, tokens)
    return tokens
  }
  const segment = (part: Part): Segment =>
    part.type === 'text'
      ? { content: part.text, tokens: tokensOf(part.text), marked: part.cache === true }
      : {
          content: `\u0000${part.type}\u0000${part.media_type}\u0000${part.base64 ?? part.blob.sha256}`,
          tokens: tokensOfBinary,
          marked: part.cache === true,
        }
  return ({ system, parts }) => {
    const rest = parts.map(segment)
    return system === '' ? rest : [{ content: system, tokens: tokensOf(system), marked: true }, ...rest]
  }
}

/** Element `i` of the result is the number of tokens in the first `i` segments. */
export function runningTotals(segments: readonly Segment[]): readonly number[] {
  const totals = [0]
  for (const { tokens } of segments) totals.push((totals.at(-1) as number) + tokens)
  return totals
}

/** A node in a tree of prompt prefixes. The path from the root to the node is the prefix, with a segment for each edge. */
export interface PrefixNode {
  readonly next: Map<string, PrefixNode>
  /** When the cache entry of this prefix expires. Undefined when the prefix has no entry. */
  expiresAt: number | undefined
}

export const createPrefixTree = (): PrefixNode => ({ next: new Map(), expiresAt: undefined })

/** The nodes of all prefixes of the segments, shortest first. Creates missing nodes. */
export function walkPrefixes(root: PrefixNode, segments: readonly Segment[]): readonly PrefixNode[] {
  let node = root
  return segments.map(({ content }) => {
    const child = node.next.get(content) ?? createPrefixTree()
    node.next.set(content, child)
    node = child
    return child
  })
}

/** A call with the number of its parts that later calls repeat. */
export interface LayeredCall extends ModelCall {
  /** Later calls repeat this many parts at the beginning unchanged. The parts after them are new in every call. */
  readonly stableParts: number
}

/**
 * The least that any placement of marks could cost. Each stable token is written once and read in every later call. All other tokens are
 * paid in full. The ideal cache has no expiry, no minimum length and no limit of the look-back.
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

/** The bill without a cache. Every token of every call is paid in full. */
export function uncachedBill(calls: readonly ModelCall[], count: TokenCounter): Bill {
  const segmentsOf = createSegmenter(count)
  const uncached = calls.reduce((sum, call) => sum + segmentsOf(call).reduce((tokens, segment) => tokens + segment.tokens, 0), 0)
  return billFor({ uncached, cacheRead: 0, cacheWrite: 0 })
}
