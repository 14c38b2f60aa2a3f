import type { Block } from '../block/block.ts'
import type { ModelUsage } from '../model-event.ts'
import type { ResponseReceived } from '../timeline/change.ts'
import { type CallUsage, callUsages } from './call-usage.ts'
import { childCallsOf } from './child-calls.ts'
import { BILLION, type PriceOf } from './price.ts'

/** The tokens of all model calls of a turn, including the calls for a title and for summaries, and attempts that failed. */
export interface TurnUsage extends Omit<ModelUsage, 'cacheWriteLong'> {
  /** How many calls were made. */
  readonly calls: number
  /** The number of calls for which the provider reported no tokens. Daybook estimated the tokens of these calls. */
  readonly estimated: number
}

/** The cost of a turn, or the reason why it is not known. Money is in the currency of the setting `priceOf`, which is US dollars by default. */
export type TurnCost =
  | { readonly money: number }
  /** The agent has no prices: its setting `priceOf` is not set. */
  | { readonly money: null; readonly reason: 'no_prices' }
  /** The price of at least one call is not known. `models` made these calls, and `known` is the cost of the other calls. */
  | { readonly money: null; readonly reason: 'unknown_price'; readonly models: readonly string[]; readonly known: number }

/** The tokens and the money that the model calls of a turn have used so far. */
export interface TurnSums {
  readonly usage: { -readonly [Field in keyof TurnUsage]: TurnUsage[Field] }
  /** The cost of all calls with a known price. */
  money: number
  /** The models of the calls whose price is not known. */
  unpriced: readonly string[]
  /** The price of the latest decision. It serves as an estimate for the next decision. */
  last: number
}

export const noSums = (): TurnSums => ({
  usage: { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, calls: 0, estimated: 0 },
  money: 0,
  unpriced: [],
  last: 0,
})

/** Adds the calls of a response. The sums are modified and not copied, because this runs in every round. */
export function addResponse(sums: TurnSums, response: ResponseReceived, priceOf: PriceOf | undefined): void {
  for (const call of callUsages(response)) {
    const price = addCall(sums, call, priceOf)
    if (response.role === undefined) sums.last = price ?? 0
  }
}

/** Adds the model calls of a sub-agent whose result is in the block. */
export function addChildCalls(sums: TurnSums, block: Block, priceOf: PriceOf | undefined): void {
  for (const call of childCallsOf(block)) addCall(sums, call, priceOf)
}

/** Adds one call. Returns its price if it is known. */
function addCall(
  sums: TurnSums,
  { usage, model, estimated }: Pick<CallUsage, 'usage' | 'model' | 'estimated'>,
  priceOf: PriceOf | undefined,
): number | undefined {
  const { usage: sum } = sums
  sum.uncached += usage.uncached
  sum.cacheRead += usage.cacheRead
  sum.cacheWrite += usage.cacheWrite
  sum.output += usage.output
  sum.reasoning += usage.reasoning
  sum.calls += 1
  if (estimated) sum.estimated += 1
  const price = priceOf && knownPrice(priceOf, usage, model)
  if (price === undefined && !sums.unpriced.includes(model)) sums.unpriced = [...sums.unpriced, model]
  sums.money = addMoney(sums.money, price ?? 0)
  return price
}

/** Adds amounts in whole billionths, so that six calls of 0.01 cost 0.06 and not 0.060000000000000005. */
const addMoney = (sum: number, price: number): number => (Math.round(sum * BILLION) + Math.round(price * BILLION)) / BILLION

export function costOfTurn({ money, unpriced }: TurnSums, priceOf: PriceOf | undefined): TurnCost {
  if (!priceOf) return { money: null, reason: 'no_prices' }
  return unpriced.length === 0 ? { money } : { money: null, reason: 'unknown_price', models: unpriced, known: money }
}

/** The price that the application's `priceOf` returns for a call. Undefined when `priceOf` throws or returns no valid price. */
export function knownPrice(priceOf: PriceOf, ...used: Parameters<PriceOf>): number | undefined {
  try {
    const price = priceOf(...used)
    return Number.isFinite(price) && (price as number) >= 0 ? price : undefined
  } catch {
    return undefined
  }
}
