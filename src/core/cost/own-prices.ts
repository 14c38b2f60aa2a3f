import type { ModelUsage } from '../model-event.ts'
import { BILLION, type ChargeOf, type PriceOf } from './price.ts'
import { split } from './shares.ts'
import { knownPrice } from './turn-usage.ts'

/**
 * Makes charges from the setting `priceOf`, which returns one price for a whole call. The price is divided among the kinds of tokens in the
 * same proportions as in `list`. If `list` has no price for the call, it is divided in proportion to the numbers of tokens.
 */
export function chargesByPrice(priceOf: PriceOf, list: ChargeOf = () => undefined): ChargeOf {
  return (usage, model, at) => {
    const price = knownPrice(priceOf, usage, model)
    if (price === undefined) return undefined
    const [uncached = 0, cacheRead = 0, cacheWrite = 0, output = 0] = split(
      Math.round(price * BILLION),
      weightsOf(list(usage, model, at) ?? usage),
    )
    return { uncached, cacheRead, cacheWrite, output }
  }
}

const weightsOf = ({ uncached, cacheRead, cacheWrite, output }: Pick<ModelUsage, 'uncached' | 'cacheRead' | 'cacheWrite' | 'output'>) => [
  uncached,
  cacheRead,
  cacheWrite,
  output,
]
