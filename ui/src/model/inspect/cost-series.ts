import type { CacheRowView, CallView, CostView } from 'daybook/client'

/** What one decision of the model cost, with all attempts that it took. */
export interface RoundBar {
  readonly seq: number
  readonly turnId: string
  readonly iteration: number
  readonly read: number
  readonly write: number
  readonly uncached: number
  readonly output: number
  /** In billionths of a dollar. Null when the price of an attempt is not known. */
  readonly money: number | null
  readonly estimated: boolean
  /** The share of the prompt that was read from the cache. Null when nothing is known about it. */
  readonly hitRate: number | null
  readonly miss: NonNullable<CacheRowView['miss']> | undefined
}

/** The rounds of a conversation in order. */
export function roundBars({ calls, cache }: Pick<CostView, 'calls' | 'cache'>): readonly RoundBar[] {
  const bars = new Map<number, RoundBar>()
  const misses = new Map(cache.rows.map((row) => [row.seq, row.miss ?? undefined]))
  for (const call of calls) if (call.role === 'decision') bars.set(call.seq, withCall(bars.get(call.seq), call, misses.get(call.seq)))
  return [...bars.values()]
}

function withCall(bar: RoundBar | undefined, call: CallView, miss: RoundBar['miss']): RoundBar {
  const { tokens, money, estimated, seq, turn_id: turnId, iteration } = call
  const read = (bar?.read ?? 0) + tokens.cache_read
  const write = (bar?.write ?? 0) + tokens.cache_write
  const uncached = (bar?.uncached ?? 0) + tokens.uncached
  const all = read + write + uncached
  return {
    seq,
    turnId,
    iteration,
    read,
    write,
    uncached,
    output: (bar?.output ?? 0) + tokens.output,
    money: money === null || bar?.money === null ? null : (bar?.money ?? 0) + money,
    estimated: estimated || bar?.estimated === true,
    hitRate: estimated || all === 0 ? null : read / all,
    miss,
  }
}

/** The sum of the money of these calls, and how many have no known price. */
export function moneyOf(calls: readonly Pick<CallView, 'money'>[]): { readonly money: number; readonly unpriced: number } {
  return {
    money: calls.reduce((sum, { money }) => sum + (money ?? 0), 0),
    unpriced: calls.filter(({ money }) => money === null).length,
  }
}
