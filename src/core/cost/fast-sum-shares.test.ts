import fc from 'fast-check'
import { expect, it } from 'vitest'
import { journals } from '../../../test/support/generators/changes.ts'
import { roughTokens } from '../estimate/tokens.ts'
import type { ModelUsage } from '../model-event.ts'
import type { Change, ResponseReceived } from '../timeline/change.ts'
import { addSums, type CostReport, costReport, type Sum, zeroSum } from './cost.ts'
import type { Charge } from './price.ts'

/** The sums by block, made of the shares of each call. */
function sumsOfShares({ calls }: CostReport): ReadonlyMap<string, Sum> {
  const sums = new Map<string, Sum>()
  for (const { shares } of calls) {
    for (const { key, tokens, money } of shares) {
      const share: Sum = { tokens: { reasoning: 0, ...tokens }, money: money ?? 0, calls: 1, unpriced: money === undefined ? 1 : 0 }
      sums.set(key, addSums(sums.get(key) ?? zeroSum, share))
    }
  }
  return sums
}

const amount = fc.oneof(fc.constant(0), fc.nat(5_000))
const responses = fc.record({
  at: fc.nat(30),
  usage: fc.record({ uncached: amount, cache_read: amount, cache_write: amount, output: amount }),
  system: amount,
  tail: amount,
  isTitle: fc.boolean(),
  isPriced: fc.boolean(),
})

const responseOf = ({
  usage,
  system,
  tail,
  isTitle,
  isPriced,
}: typeof responses extends fc.Arbitrary<infer R> ? R : never): ResponseReceived => ({
  ...{
    type: 'response.received',
    turn_id: 't1',
    ts: '2026-01-01T00:00:00.000Z',
    iteration: 0,
    call_id: 'c1',
    raw: 'x',
    finish_reason: 'stop',
  },
  ...(isTitle && { role: 'gate' as const }),
  usage,
  prompt: { model: isPriced ? 'priced' : 'unknown', system: { hash: 1, tools: 2, size: system }, tail: { size: tail } },
})

const chargeOf = ({ uncached, cacheWrite, output }: ModelUsage, model: string): Charge | undefined =>
  model === 'priced' ? { uncached: 3 * uncached, cacheRead: 7, cacheWrite: 5 * cacheWrite, output: 2 * output } : undefined

it('the sums by block are the sums of the shares of all calls, in the same order', () => {
  let compared = 0
  fc.assert(
    fc.property(journals(), fc.array(responses, { maxLength: 12 }), (changes, given) => {
      const all: Change[] = [...changes]
      for (const response of given) all.splice(Math.min(response.at, all.length), 0, responseOf(response))
      const report = costReport(
        all.map((change, index) => ({ seq: index + 1, change })),
        { chargeOf, count: roughTokens },
      )
      expect([...report.blocks]).toEqual([...sumsOfShares(report)])
      compared += report.blocks.size
    }),
  )
  expect(compared).toBeGreaterThan(300)
})
