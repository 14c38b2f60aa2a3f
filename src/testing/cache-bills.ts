import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Part } from '../core/render/types.ts'

export interface ModelCall {
  readonly system: string
  readonly parts: readonly Part[]
  /** Seconds, from whenever you like. */
  readonly at: number
}

/** Tokens in three buckets that do not overlap, and what they cost in tokens at the full input price. */
export interface Bill {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly cost: number
}

export const rates = { uncached: 1, cacheRead: 0.1, cacheWrite: 1.25 } as const

export function billFor(tokens: Omit<Bill, 'cost'>): Bill {
  const cost = tokens.uncached * rates.uncached + tokens.cacheRead * rates.cacheRead + tokens.cacheWrite * rates.cacheWrite
  return { ...tokens, cost }
}

export function sumBills(bills: readonly Bill[]): Bill {
  const sum = (pick: (bill: Bill) => number) => bills.reduce((total, bill) => total + pick(bill), 0)
  return billFor({ uncached: sum((b) => b.uncached), cacheRead: sum((b) => b.cacheRead), cacheWrite: sum((b) => b.cacheWrite) })
}

/** One element of a request as the provider sees it: the system text is the first. */
export interface Segment {
  /** Equal segments have equal contents; what the mark says is no content. */
  readonly content: string
  readonly tokens: number
  readonly marked: boolean
}

const tokensOfBinary = 1_600

/** Counts each text once: a conversation repeats itself in every call. */
export function createSegmenter(count: TokenCounter): (call: Pick<ModelCall, 'system' | 'parts'>) => readonly Segment[] {
  const known = new Map<string, number>()
  const weigh = (text: string) => {
    const tokens = known.get(text) ?? count(text)
    known.set(text, tokens)
    return tokens
  }
  const segment = (part: Part): Segment =>
    part.type === 'text'
      ? { content: part.text, tokens: weigh(part.text), marked: part.cache === true }
      : {
          content: `\u0000${part.type}\u0000${part.media_type}\u0000${part.base64 ?? part.blob.sha256}`,
          tokens: tokensOfBinary,
          marked: part.cache === true,
        }
  return ({ system, parts }) => {
    const rest = parts.map(segment)
    return system === '' ? rest : [{ content: system, tokens: weigh(system), marked: true }, ...rest]
  }
}

/** `totals[i]` is the weight of the first i segments. */
export function runningTotals(segments: readonly Segment[]): readonly number[] {
  const totals = [0]
  for (const { tokens } of segments) totals.push((totals.at(-1) as number) + tokens)
  return totals
}

/** Prefixes that share their beginning share nodes: a prefix is one node, whoever sent it and however often. */
export interface PrefixNode {
  readonly next: Map<string, PrefixNode>
  /** The first moment at which this prefix is no longer kept; undefined when it never was. */
  expiresAt: number | undefined
}

export const createPrefixTree = (): PrefixNode => ({ next: new Map(), expiresAt: undefined })

/** One node per segment: the prefix that ends with it. */
export function walkPrefixes(root: PrefixNode, segments: readonly Segment[]): readonly PrefixNode[] {
  let node = root
  return segments.map(({ content }) => {
    const known = node.next.get(content) ?? createPrefixTree()
    node.next.set(content, known)
    node = known
    return known
  })
}

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
