import { expect, it } from 'vitest'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { chargesByPrice } from './own-prices.ts'
import { BILLION, totalOf } from './price.ts'

const usage = { uncached: 10, cacheRead: 20, cacheWrite: 0, output: 3, reasoning: 1 }

it('a price of the application is divided among the kinds of tokens, and nothing of it is lost', () => {
  const chargeOf = chargesByPrice(() => 0.01)
  const charge = chargeOf(usage, 'm', '')
  expect(charge).toEqual({ uncached: 3_030_303, cacheRead: 6_060_606, cacheWrite: 0, output: 909_091 })
  expect(charge && totalOf(charge)).toBe(10_000_000)
  expect(chargeOf({ uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }, 'm', '')).toMatchObject({ uncached: 10_000_000 })
  const list = () => ({ uncached: 1, cacheRead: 0, cacheWrite: 0, output: 3 })
  expect(chargesByPrice(() => 0.01, list)(usage, 'm', '')).toEqual({ uncached: 2_500_000, cacheRead: 0, cacheWrite: 0, output: 7_500_000 })
  expect(chargesByPrice(() => undefined)(usage, 'm', '')).toBeUndefined()
})

it('the result of a turn and the usage report have the same exact cost', async () => {
  const plan = reply.call('react.plan', { mode: 'new', steps: ['look'] })
  const harness = createHarness({ replies: [plan, plan, plan, plan, reply.answer('Done.')], settings: { priceOf: () => 0.01 } })
  const { cost, turnId } = await harness.say('Go.')
  expect(cost).toEqual({ money: 0.06 })
  const { total } = (await harness.agent.archive.usage('c1')).cost
  expect(total).toMatchObject({ money: 0.06 * BILLION, calls: 6, unpriced: 0 })
  expect((await harness.agent.archive.turnResult('c1', turnId)).cost).toEqual(cost)
})
