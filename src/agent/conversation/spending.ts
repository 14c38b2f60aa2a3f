import type { RulesOf } from '../../core/cache/rules.ts'
import { callUsages } from '../../core/cost/call-usage.ts'
import { hasChildCalls } from '../../core/cost/child-calls.ts'
import { chargesByPrice } from '../../core/cost/own-prices.ts'
import type { ChargeOf, PriceOf } from '../../core/cost/price.ts'
import { addChildCalls, addResponse, costOfTurn, knownPrice, noSums, type TurnCost, type TurnSums } from '../../core/cost/turn-usage.ts'
import type { BlocksAppended, Change, ResponseReceived } from '../../core/timeline/change.ts'

/** Adds up what each turn of a running conversation uses: tokens and money. Calls for titles and summaries are included. */
export interface Spending {
  /**
   * Responses, and results of sub-agents, that are not counted yet. `of` counts them. In most turns `of` is called once, at the end. Until
   * then, each round only adds to this list, which is fast.
   */
  readonly uncounted: (ResponseReceived | BlocksAppended)[]
  of(turnId: string): TurnSums
  cost(turnId: string): TurnCost
  /**
   * Whether calls of this model have a known price. A turn with a money limit checks this before its first call. Without a price, its cost
   * can not be compared with the limit.
   */
  hasPrice(model: string): boolean
  /**
   * Whether the price of at least one call of the turn is not known. `more` has responses of the turn that are not in `uncounted` yet.
   */
  isUnpriced(turnId: string, more: readonly ResponseReceived[]): boolean
}

const noTokens = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** `priceOf` is undefined when the agent has no prices. */
export function createSpending(priceOf: PriceOf | undefined): Spending {
  const spent = new Map<string, TurnSums>()
  const uncounted: (ResponseReceived | BlocksAppended)[] = []
  const sumsOf = (turnId: string): TurnSums => {
    const sums = spent.get(turnId) ?? noSums()
    spent.set(turnId, sums)
    return sums
  }
  const of = (turnId: string): TurnSums => {
    for (const change of uncounted.splice(0)) {
      if (change.type === 'response.received') addResponse(sumsOf(change.turn_id), change, priceOf)
      else for (const block of change.blocks) addChildCalls(sumsOf(block.turn_id), block, priceOf)
    }
    return sumsOf(turnId)
  }
  const priceOfCall = (...used: Parameters<PriceOf>) => priceOf && knownPrice(priceOf, ...used)
  return {
    uncounted,
    of,
    cost: (turnId) => costOfTurn(of(turnId), priceOf),
    isUnpriced: (turnId, more) =>
      of(turnId).unpriced.length > 0 || more.flatMap(callUsages).some(({ usage, model }) => priceOfCall(usage, model) === undefined),
    hasPrice: (model) => priceOfCall(noTokens, model) !== undefined,
  }
}

/** Adds the calls that a resumed turn made before its process died. */
export function restoreSpending(spending: Spending, changes: readonly Change[], turnId: string): void {
  for (const change of changes) {
    if (change.type === 'response.received' && change.turn_id === turnId) spending.uncounted.push(change)
    else if (change.type === 'blocks.appended' && hasChildCalls(change)) spending.uncounted.push(change)
  }
}

/** Prices and cache rules of the providers. Without prices, a usage report contains only numbers of tokens. */
export interface Bookkeeping {
  readonly chargeOf: ChargeOf
  readonly rulesOf: RulesOf
}

/** The prices and cache rules of an agent that has no `bookkeeping`: the prices are those of the setting `priceOf`. */
export const bookkeepingFor = (priceOf: PriceOf | undefined): Bookkeeping => ({
  chargeOf: priceOf ? chargesByPrice(priceOf) : () => undefined,
  rulesOf: () => undefined,
})
