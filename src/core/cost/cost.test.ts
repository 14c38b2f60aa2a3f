import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cacheOf, scriptedModelWithCache } from '../../../test/support/models/model-with-cache.ts'
import { library, weather } from '../../../test/support/scenario-tools.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { roughTokens } from '../estimate/tokens.ts'
import type { ModelUsage } from '../model-event.ts'
import { addSums, type CostReport, costReport, type Sum, zeroSum } from './cost.ts'
import { type ChargeOf, chargeFor, type Price, promptTokens, totalOf } from './price.ts'
import { sharesOf, split } from './shares.ts'

const price: Price = {
  model: 'scripted',
  currency: 'USD',
  input: 3,
  cacheRead: 0.3,
  cacheWrite: 3.75,
  cacheWriteLong: 6,
  output: 15,
  as_of: '2026-01-01',
  source: 'this test',
}
const chargeOf: ChargeOf = (usage, model) => (model === 'scripted' ? chargeFor(usage, price) : undefined)
const tokens = fc.nat(300_000)
const usages: fc.Arbitrary<ModelUsage> = fc.record({
  uncached: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  cacheWriteLong: fc.constant(0),
  output: tokens,
  reasoning: fc.constant(0),
})
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

describe('split', () => {
  it('the shares add up to the number for any weights, and no share is off by more than one', () => {
    const numRuns = 200
    let compared = 0
    const amounts = fc.oneof(fc.nat(1e9), fc.nat(Number.MAX_SAFE_INTEGER))
    fc.assert(
      fc.property(amounts, fc.array(fc.nat(100_000), { minLength: 1, maxLength: 60 }), (amount, weights) => {
        const shares = split(amount, weights)
        expect(sum(shares)).toBe(amount)
        expect(shares.every((share) => Number.isSafeInteger(share) && share >= 0)).toBe(true)
        if (amount < 1e9 && sum(weights) > 0) {
          compared++
          for (const [index, share] of shares.entries())
            expect(Math.abs(share - (amount * (weights[index] ?? 0)) / sum(weights))).toBeLessThan(1.01)
        }
      }),
      { numRuns },
    )
    expect(compared).toBeGreaterThan(numRuns / 4)
  })
})

describe('the shares of a call', () => {
  it('add up exactly: every bucket in tokens, and the money', () => {
    const items = fc.array(fc.nat(5_000), { minLength: 1, maxLength: 40 }).map((all) => all.map((weight, n) => ({ key: `b_${n}`, weight })))
    fc.assert(
      fc.property(usages, items, items, (usage, asked, made) => {
        const charge = chargeFor(usage, price)
        const shares = sharesOf(usage, charge, asked, made)
        for (const bucket of ['uncached', 'cacheRead', 'cacheWrite', 'output'] as const) {
          expect(sum(shares.map((share) => share.tokens[bucket]))).toBe(usage[bucket])
        }
        expect(sum(shares.map(({ money }) => money ?? Number.NaN))).toBe(totalOf(charge))
      }),
    )
  })

  it('follow the order of the prompt: the beginning was read from the cache, then written, the rest uncached', () => {
    const usage = { uncached: 10, cacheRead: 60, cacheWrite: 30, output: 5, reasoning: 0 }
    const asked = [
      { key: 'system', weight: 50 },
      { key: 'b_1', weight: 20 },
      { key: 'b_2', weight: 20 },
      { key: 'tail', weight: 10 },
    ]
    const shares = sharesOf(usage, undefined, asked, [{ key: 'b_3', weight: 1 }])
    expect(
      shares.map(({ key, tokens: { cacheRead, cacheWrite, uncached, output } }) => [key, cacheRead, cacheWrite, uncached, output]),
    ).toEqual([
      ['system', 50, 0, 0, 0],
      ['b_1', 10, 10, 0, 0],
      ['b_2', 0, 20, 0, 0],
      ['tail', 0, 0, 10, 0],
      ['b_3', 0, 0, 0, 5],
    ])
    expect(shares.every(({ money }) => money === undefined)).toBe(true)
  })

  it('cache writes for an hour cost more than cache writes for five minutes', () => {
    const usage = { uncached: 0, cacheRead: 0, cacheWrite: 1_000, output: 0, reasoning: 0 }
    expect(totalOf(chargeFor(usage, price))).toBe(3_750_000)
    expect(totalOf(chargeFor({ ...usage, cacheWriteLong: 400 }, price))).toBe(600 * 3_750 + 400 * 6_000)
  })
})

async function reportOf(replies: readonly Reply[], options: Partial<HarnessOptions> = {}, messages = ['Do it.']): Promise<CostReport> {
  const harness = createHarness({ replies, tools: [weather(), library()], ...options })
  for (const message of messages) await harness.say(message)
  const journal = (await harness.journal()).map((change, index) => ({ seq: index + 1, change }))
  return costReport(journal, { chargeOf, count: roughTokens })
}

const usage = (uncached: number, cacheRead = 0, cacheWrite = 0) => ({ uncached, cacheRead, cacheWrite, output: 40, reasoning: 10 })
const called = (bill: Partial<ModelUsage>) => ({ text: reply.call('weather.today', { city: 'Rome' }), usage: bill })
const turn = [called(usage(200, 0, 4_000)), { text: reply.answer('Clear.'), usage: usage(200, 4_000, 100) }]

describe('the cost report of a conversation', () => {
  it('the sums by turn, role, model and block each equal the total', async () => {
    const report = await reportOf([...turn, ...turn], {}, ['Rome?', 'And now?'])
    const whole = (sums: ReadonlyMap<string, Sum>) => {
      const { tokens, money } = [...sums.values()].reduce(addSums, zeroSum)
      return { money, prompt: promptTokens(tokens), output: tokens.output }
    }
    const { money, tokens } = report.total
    const expected = { money, prompt: promptTokens(tokens), output: tokens.output }
    expect(expected.money).toBeGreaterThan(0)
    for (const part of [report.turns, report.roles, report.models, report.blocks]) expect(whole(part)).toEqual(expected)
    expect([...report.roles.keys()].sort()).toEqual(['decision', 'gate'])
    expect(report.turns.size).toBe(2)
  })

  it('a block is charged for its cache write, for each cache read, and for the output that made it', async () => {
    const clock = createFixedClock()
    const model = scriptedModelWithCache([reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')], {
      cache: cacheOf(),
      clock,
    })
    const { calls: made, blocks } = await reportOf([], { model, clock })
    const [, first, second] = made
    expect(first?.shares.find(({ key }) => key === 'system')?.tokens).toMatchObject({ cacheRead: 0, uncached: 0 })
    expect(second?.shares.find(({ key }) => key === 'system')?.tokens).toMatchObject({ cacheWrite: 0, uncached: 0 })
    expect(second?.shares.find(({ key }) => key === 'tail')?.tokens).toMatchObject({ cacheRead: 0 })
    const producedKeys = first?.shares.filter(({ tokens: { output } }) => output > 0).map(({ key }) => key) ?? []
    expect(producedKeys.length).toBeGreaterThan(0)
    for (const key of producedKeys) expect(key).toMatch(/^b_\d+$/)
    expect(blocks.get('b_1')?.money).toBeGreaterThan(0)
  })

  it('counts calls without a known price, and does not treat them as free', async () => {
    const journal = [
      { seq: 1, change: response('scripted', usage(1_000)) },
      { seq: 2, change: response('stranger', usage(1_000)) },
    ]
    const { total, models, calls: made } = costReport(journal, { chargeOf, count: roughTokens })
    expect(total).toMatchObject({ calls: 2, unpriced: 1, money: 1_000 * 3_000 + 40 * 15_000 })
    expect(models.get('stranger')).toMatchObject({ unpriced: 1, tokens: { uncached: 1_000 } })
    expect(made[1]?.shares.every(({ money }) => money === undefined)).toBe(true)
  })

  it('estimates aborted calls, and counts nothing for a call that failed before any output', async () => {
    const broken = { text: '<channel:thinking>Let me', error: { kind: 'connection', retryable: true } } as const
    const { calls: made } = await reportOf([broken, { error: { kind: 'authentication', message: 'no' } }])
    expect(made.map(({ role, estimated }) => [role, estimated])).toEqual([
      ['gate', false],
      ['decision', true],
    ])
    expect(made[1]?.usage.uncached).toBeGreaterThan(500)
  })
})

function response(model: string, { cacheRead, cacheWrite, ...rest }: ModelUsage) {
  return {
    type: 'response.received' as const,
    turn_id: 't1',
    ts: '2026-01-01T00:00:00.000Z',
    iteration: 0,
    call_id: 'c1',
    raw: 'x',
    finish_reason: 'stop',
    usage: { ...rest, cache_read: cacheRead, cache_write: cacheWrite },
    prompt: { model },
  }
}
