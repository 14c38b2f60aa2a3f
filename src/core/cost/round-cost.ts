import { addSums, type CallCost, type CostReport, type Sum, zeroSum } from './cost.ts'
import type { Share } from './shares.ts'

/** The cost of one round, divided among the blocks of its prompt and of its response. */
export interface RoundCost {
  /** The calls of the round: first the attempts whose output was not used, then the call whose output was used. */
  readonly calls: readonly CallCost[]
  readonly shares: readonly RoundShare[]
}

/** The share of a block in the cost of a round, and what this block has cost in all rounds up to this one. */
export interface RoundShare extends Share {
  readonly soFar: Sum
}

/** The cost of the decision of a round. Undefined when the report has no such round. */
export function roundCost({ calls: all }: Pick<CostReport, 'calls'>, turnId: string, iteration: number): RoundCost | undefined {
  const calls = all.filter((call) => call.role === 'decision' && call.turnId === turnId && call.iteration === iteration)
  const last = calls.at(-1)
  if (!last) return undefined
  const own = new Map<string, Share>()
  for (const share of calls.flatMap(({ shares }) => shares)) own.set(share.key, add(own.get(share.key), share))
  const soFar = new Map<string, Sum>()
  for (const call of all) {
    if (call.seq > last.seq) continue
    for (const { key, tokens, money } of call.shares) {
      if (!own.has(key)) continue
      const sum = { tokens: { ...tokens, reasoning: 0 }, money: money ?? 0, calls: 1, unpriced: money === undefined ? 1 : 0 }
      soFar.set(key, addSums(soFar.get(key) ?? zeroSum, sum))
    }
  }
  return { calls, shares: [...own.values()].map((share) => ({ ...share, soFar: soFar.get(share.key) ?? zeroSum })) }
}

function add(one: Share | undefined, other: Share): Share {
  if (!one) return other
  return {
    key: one.key,
    tokens: {
      uncached: one.tokens.uncached + other.tokens.uncached,
      cacheRead: one.tokens.cacheRead + other.tokens.cacheRead,
      cacheWrite: one.tokens.cacheWrite + other.tokens.cacheWrite,
      output: one.tokens.output + other.tokens.output,
    },
    money: one.money === undefined || other.money === undefined ? undefined : one.money + other.money,
  }
}
