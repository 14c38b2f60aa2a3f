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
