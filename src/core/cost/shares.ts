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
 * The tokens of all shares add up to exactly the tokens of the call, and the money of all shares adds up to exactly the price of the call.
 */
export function sharesOf(
  usage: ModelUsage,
  charge: Charge | undefined,
  prompt: readonly WeightedItem[],
  output: readonly WeightedItem[],
): readonly Share[] {
  const total = promptTokens(usage)
  const cached = usage.cacheRead + usage.cacheWrite
  const lengths = split(
    total,
    prompt.map(({ weight }) => weight),
  )
  // The money is split while the shares are made. Making lists of amounts first would be slow, because a long conversation has millions of
  // shares.
  const paid = charge && {
    cacheRead: createSplitter(charge.cacheRead, usage.cacheRead),
    cacheWrite: createSplitter(charge.cacheWrite, usage.cacheWrite),
    uncached: createSplitter(charge.uncached, usage.uncached),
  }
  let end = 0
  const promptShares = prompt.map(({ key }, index): Share => {
    const start = end
    end += lengths[index] as number
    const cacheRead = overlap(start, end, 0, usage.cacheRead)
    const cacheWrite = overlap(start, end, usage.cacheRead, cached)
    const uncached = overlap(start, end, cached, total)
    const money = paid && paid.cacheRead(cacheRead) + paid.cacheWrite(cacheWrite) + paid.uncached(uncached)
    return { key, tokens: { cacheRead, cacheWrite, uncached, output: 0 }, money }
  })
  return [...promptShares, ...outputShares(usage.output, charge?.output, output)]
}

const overlap = (start: number, end: number, from: number, to: number): number => Math.max(0, Math.min(end, to) - Math.max(start, from))

/**
 * Makes a function that splits `amount` as `split` does, but takes the weights one after the other. The weights are whole numbers that add
 * up to `sum`.
 */
function createSplitter(amount: number, sum: number): (weight: number) => number {
  let weightSoFar = 0
  let sharedSoFar = 0
  let isFirst = true
  return (weight) => {
    if (sum <= 0) {
      const share = isFirst ? amount : 0
      isFirst = false
      return share
    }
    weightSoFar += weight
    const share = Math.max(0, Math.min(amount, Math.round(amount * (weightSoFar / sum))) - sharedSoFar)
    sharedSoFar += share
    return share
  }
}

export function outputShares(tokens: number, money: number | undefined, items: readonly WeightedItem[]): readonly Share[] {
  const weights = items.map(({ weight }) => weight)
  const counted = split(tokens, weights)
  const paid = money === undefined ? undefined : split(money, weights)
  return items.map(({ key }, index) => ({
    key,
    tokens: { cacheRead: 0, cacheWrite: 0, uncached: 0, output: counted[index] as number },
    money: paid?.[index],
  }))
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
