import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Part } from '../core/render/types.ts'

/** The prompt of a model call, and the time of the call. */
export interface ModelCall {
  readonly system: string
  readonly parts: readonly Part[]
  /** The time of the call in seconds, from any starting time. */
  readonly at: number
}

/**
 * The numbers of input tokens of a call, one number for each of the three prices. Each token is counted once, as `uncached`, `cacheRead` or
 * `cacheWrite`. `cost` is the price of all tokens together, where an uncached token costs 1.
 */
export interface Bill {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly cost: number
}

/** The price of a token of each kind, where an uncached input token costs 1. */
export const rates = { uncached: 1, cacheRead: 0.1, cacheWrite: 1.25 } as const

export function billFor(tokens: Omit<Bill, 'cost'>): Bill {
  const cost = tokens.uncached * rates.uncached + tokens.cacheRead * rates.cacheRead + tokens.cacheWrite * rates.cacheWrite
  return { ...tokens, cost }
}

export function sumBills(bills: readonly Bill[]): Bill {
  const sum = (pick: (bill: Bill) => number) => bills.reduce((total, bill) => total + pick(bill), 0)
  return billFor({ uncached: sum((b) => b.uncached), cacheRead: sum((b) => b.cacheRead), cacheWrite: sum((b) => b.cacheWrite) })
}

/** A part of a request, as the cache sees it. The first segment is the system text. Each part of the prompt is one more segment. */
export interface Segment {
  /** The text or bytes of the segment. The cache compares segments only by this. */
  readonly content: string
  readonly tokens: number
  readonly marked: boolean
}

const tokensOfBinary = 1_600

/**
 * Returns a function that splits calls into segments. It stores the token counts of texts, because each call repeats the texts of earlier
 * calls.
 */
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

/** Element `i` of the list is the number of tokens in the first `i` segments. The first element is 0, and the last is the total. */
export function runningTotals(segments: readonly Segment[]): readonly number[] {
  const totals = [0]
  for (const { tokens } of segments) totals.push((totals.at(-1) as number) + tokens)
  return totals
}

/**
 * A node in a tree of prefixes, which are beginnings of prompts. Each edge is a segment. The edges from the root to a node are the segments
 * of one prefix.
 */
export interface PrefixNode {
  readonly next: Map<string, PrefixNode>
  /** When the cache entry that ends at this node expires, in seconds. Undefined when no cache entry ends at this node. */
  expiresAt: number | undefined
}

export const createPrefixTree = (): PrefixNode => ({ next: new Map(), expiresAt: undefined })

/** The nodes of all prefixes of these segments, shortest prefix first. Nodes that do not exist yet are created. */
export function walkPrefixes(root: PrefixNode, segments: readonly Segment[]): readonly PrefixNode[] {
  let node = root
  return segments.map(({ content }) => {
    const child = node.next.get(content) ?? createPrefixTree()
    node.next.set(content, child)
    node = child
    return child
  })
}

/** A call whose first parts are repeated by later calls. */
export interface LayeredCall extends ModelCall {
  /** How many parts at the beginning are repeated unchanged by later calls. The parts after them are new in every call. */
  readonly stableParts: number
}

/**
 * The cost with an ideal cache. No choice of marks can cost less. Each token of the repeated parts is written once and read in every later
 * call. All other tokens are uncached. Entries of the ideal cache do not expire, have no minimum length, and are found at any distance
 * before a mark.
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

/** The cost of the calls without a cache. Every token of every call is uncached. */
export function uncachedBill(calls: readonly ModelCall[], count: TokenCounter): Bill {
  const segmentsOf = createSegmenter(count)
  const uncached = calls.reduce((sum, call) => sum + segmentsOf(call).reduce((tokens, segment) => tokens + segment.tokens, 0), 0)
  return billFor({ uncached, cacheRead: 0, cacheWrite: 0 })
}
