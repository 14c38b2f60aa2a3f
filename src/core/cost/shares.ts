import type { ModelUsage } from '../model-event.ts'
import { type Charge, promptTokens } from './price.ts'

/** Something that stood in a prompt: a block, by its id, or what is no block. */
export interface WeightedItem {
  readonly key: string
  readonly weight: number
}

/** What one item had of a call, in tokens and, where the price is known, in money. */
export interface Share {
  readonly key: string
  readonly tokens: Omit<ModelUsage, 'reasoning' | 'cacheWriteLong'>
  readonly money: number | undefined
}

/**
 * Who had how much of a call. What was cached is the beginning of the prompt, so each item lies in one bucket or across a border:
 *
 *   items   │ system │ b_1 │  b_2  │ b_3 │ b_4 │ tail │
 *   billed  │ read              │ written   │ uncached │
 *
 * Tokens and money of all shares add up to the bill, exactly.
 */
export function sharesOf(
  usage: ModelUsage,
  charge: Charge | undefined,
  asked: readonly WeightedItem[],
  made: readonly WeightedItem[],
): readonly Share[] {
  const spans = spansOf(
    split(
      promptTokens(usage),
      asked.map(({ weight }) => weight),
    ),
  )
  const written = usage.cacheRead + usage.cacheWrite
  const within = (from: number, to: number) => spans.map(([start, end]) => Math.max(0, Math.min(end, to) - Math.max(start, from)))
  const [cacheRead, cacheWrite, uncached] = [
    within(0, usage.cacheRead),
    within(usage.cacheRead, written),
    within(written, promptTokens(usage)),
  ]
  const money = charge && {
    cacheRead: split(charge.cacheRead, cacheRead),
    cacheWrite: split(charge.cacheWrite, cacheWrite),
    uncached: split(charge.uncached, uncached),
  }
  const of = (list: readonly number[], index: number) => list[index] as number
  const input = asked.map(({ key }, index): Share => {
    const tokens = { cacheRead: of(cacheRead, index), cacheWrite: of(cacheWrite, index), uncached: of(uncached, index), output: 0 }
    const paid = money && of(money.cacheRead, index) + of(money.cacheWrite, index) + of(money.uncached, index)
    return { key, tokens, money: paid }
  })
  return [...input, ...outputShares(usage.output, charge?.output, made)]
}

function outputShares(tokens: number, money: number | undefined, made: readonly WeightedItem[]): readonly Share[] {
  const weights = made.map(({ weight }) => weight)
  const counted = split(tokens, weights)
  const paid = money === undefined ? undefined : split(money, weights)
  return made.map(({ key }, index) => ({
    key,
    tokens: { cacheRead: 0, cacheWrite: 0, uncached: 0, output: counted[index] as number },
    money: paid?.[index],
  }))
}

/** One after the other, from 0. */
function spansOf(lengths: readonly number[]): readonly (readonly [number, number])[] {
  let end = 0
  return lengths.map((length) => {
    const start = end
    end += length
    return [start, end] as const
  })
}

/**
 * Cuts a whole number into whole shares by weight. The shares always add up to the number: each is what lies between two rounded
 * marks on one line, so none is more than one off. Without any weight the first share is the whole.
 */
export function split(amount: number, weights: readonly number[]): readonly number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  if (sum <= 0) return weights.map((_, index) => (index === 0 ? amount : 0))
  const last = weights.findLastIndex((weight) => weight > 0)
  let weighed = 0
  let given = 0
  return weights.map((weight, index) => {
    weighed += weight
    const mark = index >= last ? amount : Math.min(amount, Math.round(amount * (weighed / sum)))
    const share = Math.max(0, mark - given)
    given += share
    return share
  })
}
