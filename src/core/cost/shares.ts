import type { ModelUsage } from '../model-event.ts'
import { type Charge, promptTokens } from './price.ts'

/** A part of a prompt or of a response. `key` is the id of a block, or a name such as `system`. */
export interface WeightedItem {
  readonly key: string
  readonly weight: number
}

/** The tokens and the money of one item of a call. `money` is undefined when the price is not known. */
export interface Share {
  readonly key: string
  readonly tokens: Omit<ModelUsage, 'reasoning' | 'cacheWriteLong'>
  readonly money: number | undefined
}

/**
 * Distributes the usage of a call over the items of its prompt and its response. Providers bill the prompt in this order: tokens that were
 * read from the cache, tokens that were written to it, other tokens. One item may be billed in two ways, as `b_2` in this example:
 *
 *   items   │ system │ b_1 │  b_2  │ b_3 │ b_4 │ tail │
 *   billed  │ read              │ written   │ uncached │
 *
 * The tokens of all shares add up to exactly the tokens of the call, and their money to its price.
 */
export function sharesOf(
  usage: ModelUsage,
  charge: Charge | undefined,
  prompt: readonly WeightedItem[],
  output: readonly WeightedItem[],
): readonly Share[] {
  const spans = spansOf(
    split(
      promptTokens(usage),
      prompt.map(({ weight }) => weight),
    ),
  )
  const cached = usage.cacheRead + usage.cacheWrite
  const within = (from: number, to: number) => spans.map(([start, end]) => Math.max(0, Math.min(end, to) - Math.max(start, from)))
  const [cacheRead, cacheWrite, uncached] = [
    within(0, usage.cacheRead),
    within(usage.cacheRead, cached),
    within(cached, promptTokens(usage)),
  ]
  const money = charge && {
    cacheRead: split(charge.cacheRead, cacheRead),
    cacheWrite: split(charge.cacheWrite, cacheWrite),
    uncached: split(charge.uncached, uncached),
  }
  const at = (list: readonly number[], index: number) => list[index] as number
  const promptShares = prompt.map(({ key }, index): Share => {
    const tokens = { cacheRead: at(cacheRead, index), cacheWrite: at(cacheWrite, index), uncached: at(uncached, index), output: 0 }
    const paid = money && at(money.cacheRead, index) + at(money.cacheWrite, index) + at(money.uncached, index)
    return { key, tokens, money: paid }
  })
  return [...promptShares, ...outputShares(usage.output, charge?.output, output)]
}

function outputShares(tokens: number, money: number | undefined, items: readonly WeightedItem[]): readonly Share[] {
  const weights = items.map(({ weight }) => weight)
  const counted = split(tokens, weights)
  const paid = money === undefined ? undefined : split(money, weights)
  return items.map(({ key }, index) => ({
    key,
    tokens: { cacheRead: 0, cacheWrite: 0, uncached: 0, output: counted[index] as number },
    money: paid?.[index],
  }))
}

/** The start and the end of consecutive ranges with the given lengths. The first range starts at 0. */
function spansOf(lengths: readonly number[]): readonly (readonly [number, number])[] {
  let end = 0
  return lengths.map((length) => {
    const start = end
    end += length
    return [start, end] as const
  })
}

/**
 * Splits a whole number into whole shares in proportion to the weights. The shares add up to exactly this number, because each share is the
 * difference of two rounded cumulative sums. If all weights are 0, the first share is the whole number.
 */
export function split(amount: number, weights: readonly number[]): readonly number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  if (sum <= 0) return weights.map((_, index) => (index === 0 ? amount : 0))
  const last = weights.findLastIndex((weight) => weight > 0)
  let weightSoFar = 0
  let sharedSoFar = 0
  return weights.map((weight, index) => {
    weightSoFar += weight
    const end = index >= last ? amount : Math.min(amount, Math.round(amount * (weightSoFar / sum)))
    const share = Math.max(0, end - sharedSoFar)
    sharedSoFar += share
    return share
  })
}
