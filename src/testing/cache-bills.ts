import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Part } from '../core/render/types.ts'

/** One call of a model: its prompt and when it is made. */
export interface ModelCall {
  readonly system: string
  readonly parts: readonly Part[]
  /** Seconds since any fixed moment. */
  readonly at: number
}

/** The input tokens of a call in three buckets that do not overlap. `cost` is in tokens at the full input price. */
export interface Bill {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly cost: number
}

/** The price of a token in each bucket, relative to the input price. */
export const rates = { uncached: 1, cacheRead: 0.1, cacheWrite: 1.25 } as const

/** Adds the cost to token counts. */
export function billFor(tokens: Omit<Bill, 'cost'>): Bill {
  const cost = tokens.uncached * rates.uncached + tokens.cacheRead * rates.cacheRead + tokens.cacheWrite * rates.cacheWrite
  return { ...tokens, cost }
}

export function sumBills(bills: readonly Bill[]): Bill {
  const sum = (pick: (bill: Bill) => number) => bills.reduce((total, bill) => total + pick(bill), 0)
  return billFor({ uncached: sum((b) => b.uncached), cacheRead: sum((b) => b.cacheRead), cacheWrite: sum((b) => b.cacheWrite) })
}

/** One element of a request for the cache: the system text, then one for each part. */
export interface Segment {
  /** Segments with equal content are equal for the cache, whether they are marked or not. */
  readonly content: string
  readonly tokens: number
  readonly marked: boolean
}

const tokensOfBinary = 1_600

/** Splits calls into segments. Remembers the token count of each text, because every call repeats the conversation. */
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

/** `totals[i]` is the number of tokens of the first i segments. */
export function runningTotals(segments: readonly Segment[]): readonly number[] {
  const totals = [0]
  for (const { tokens } of segments) totals.push((totals.at(-1) as number) + tokens)
  return totals
}

/** A node of a tree of prompt prefixes. Equal prefixes are one node, and prefixes with a common beginning share nodes. */
export interface PrefixNode {
  readonly next: Map<string, PrefixNode>
  /** When the cache entry of this prefix expires; undefined when it has none. */
  expiresAt: number | undefined
}

export const createPrefixTree = (): PrefixNode => ({ next: new Map(), expiresAt: undefined })

/** The node of each prefix of the segments, in order; missing nodes are created. */
export function walkPrefixes(root: PrefixNode, segments: readonly Segment[]): readonly PrefixNode[] {
  let node = root
  return segments.map(({ content }) => {
    const child = node.next.get(content) ?? createPrefixTree()
    node.next.set(content, child)
    node = child
    return child
  })
}

/** A call that says which of its parts later calls repeat. */
export interface LayeredCall extends ModelCall {
  /** How many parts, from the first, later calls repeat unchanged. The parts after them are new in every call. */
  readonly stableParts: number
}

/**
 * The least that any placement of marks could cost: each stable token is written once, when it first appears, and read in every later
 * call; all other tokens are paid in full. Entries never expire, and there is neither a minimum nor a limited look-back.
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

/** The cost without any cache: every token of every call is paid in full. */
export function uncachedBill(calls: readonly ModelCall[], count: TokenCounter): Bill {
  const segmentsOf = createSegmenter(count)
  const uncached = calls.reduce((sum, call) => sum + segmentsOf(call).reduce((tokens, segment) => tokens + segment.tokens, 0), 0)
  return billFor({ uncached, cacheRead: 0, cacheWrite: 0 })
}
