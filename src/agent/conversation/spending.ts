import type { RulesOf } from '../../core/cache/rules.ts'
import { callUsages } from '../../core/cost/call-usage.ts'
import { chargesByPrice } from '../../core/cost/own-prices.ts'
import type { ChargeOf, PriceOf } from '../../core/cost/price.ts'
import { addChildCalls, addResponse, costOfTurn, knownPrice, noSums, type TurnCost, type TurnSums } from '../../core/cost/turn-usage.ts'
import type { Change, ResponseReceived } from '../../core/timeline/change.ts'

/** Adds up what each turn of a running conversation uses: tokens and money. Calls for titles and summaries are included. */
export interface Spending {
  /** Adds the model calls of a change: those of a response, or those of a sub-agent whose result was appended. */
  count(change: Change): void
  of(turnId: string): TurnSums
  cost(turnId: string): TurnCost
  /**
   * Whether calls of this model have a known price. A turn with a money limit checks this before its first call. Without a price, its cost
   * can not be compared with the limit.
   */
  hasPrice(model: string): boolean
  /**
   * Whether the price of at least one call of the turn is not known. `more` has responses of the turn that are not counted yet.
   */
  isUnpriced(turnId: string, more: readonly ResponseReceived[]): boolean
}

const noTokens = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }

/** `priceOf` is undefined when the agent has no prices. */
export function createSpending(priceOf: PriceOf | undefined): Spending {
  const spent = new Map<string, TurnSums>()
  const of = (turnId: string): TurnSums => {
    const known = spent.get(turnId)
    if (known) return known
    const sums = noSums()
    spent.set(turnId, sums)
    return sums
  }
  const priceOfCall = (...used: Parameters<PriceOf>) => priceOf && knownPrice(priceOf, ...used)
  return {
    count(change) {
      if (change.type === 'response.received') addResponse(of(change.turn_id), change, priceOf)
      else if (change.type === 'blocks.appended') {
        for (const block of change.blocks) if (block.meta?.child !== undefined) addChildCalls(of(block.turn_id), block, priceOf)
      }
    },
    of,
    cost: (turnId) => costOfTurn(of(turnId), priceOf),
    isUnpriced: (turnId, more) =>
      of(turnId).unpriced.length > 0 || more.flatMap(callUsages).some(({ usage, model }) => priceOfCall(usage, model) === undefined),
    hasPrice: (model) => priceOfCall(noTokens, model) !== undefined,
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
