import { describe, expect, it } from 'vitest'
import type { Price } from '../../core/cost/price.ts'
import { createPriceOf, prices } from './prices.ts'

const usage = { uncached: 1_000_000, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
const on = (day: string) => createPriceOf({ now: () => `${day}T12:00:00.000Z` })
const priceOf = on('2026-11-15')

describe('the price of a call', () => {
  it('is the sum over its kinds of tokens', () => {
    const mixed = { uncached: 1_000, cacheRead: 10_000, cacheWrite: 2_000, output: 500, reasoning: 400 }
    expect(priceOf(mixed, 'anthropic/claude-sonnet-5-5')).toBeCloseTo(0.001 * 2 + 0.01 * 0.2 + 0.002 * 2.5 + 0.0005 * 10, 12)
  })

  it('is higher for a cache write that lives an hour than for one that lives five minutes', () => {
    const write = { ...usage, uncached: 0, cacheWrite: 1_000_000 }
    expect(priceOf(write, 'anthropic/claude-opus-5-5')).toBe(5)
    expect(priceOf({ ...write, cacheWriteLong: 1_000_000 }, 'anthropic/claude-opus-5-5')).toBe(8)
    expect(priceOf({ ...write, cacheWriteLong: 500_000 }, 'anthropic/claude-opus-5-5')).toBe(6.5)
  })

  it('is undefined, not zero, for a model without a row', () => {
    for (const model of ['anthropic/claude-next', 'openai/gpt-5.4-mini-turbo', 'ollama/qwen3', 'scripted', '']) {
      expect(priceOf(usage, model)).toBeUndefined()
    }
  })

  it('is the same for dated versions of a model', () => {
    expect(priceOf(usage, 'anthropic/claude-haiku-4-5-20251001')).toBe(1)
    expect(priceOf({ ...usage, uncached: 100_000 }, 'openai/gpt-5.4-2026-03-05')).toBeCloseTo(0.25, 12)
  })

  it('depends on the length of the prompt where the provider has such tiers', () => {
    const haiku = (uncached: number) => priceOf({ ...usage, uncached }, 'anthropic/claude-haiku-5-5')
    expect(haiku(100_000)).toBeCloseTo(0.01, 12)
    expect(haiku(200_000)).toBeCloseTo(0.1, 12)
    // the table has no price for prompts of this length
    expect(priceOf({ ...usage, uncached: 300_000 }, 'openai/gpt-6-luna')).toBeUndefined()
  })

  it('depends on the day of the call', () => {
    const argon = (day: string) => on(day)(usage, 'google/gemini-4-argon')
    expect([argon('2026-11-30'), argon('2026-12-01')]).toEqual([2, 4])
    expect(on('2027-01-01')(usage, 'google/gemini-3.8-flash')).toBeUndefined()
  })

  it('can be given by the caller for other models', () => {
    const row = {
      model: 'ollama/qwen3',
      currency: 'USD',
      input: 0.1,
      cacheRead: 0,
      cacheWrite: 0.1,
      output: 0.1,
      as_of: '2026-11-15',
    } as const
    const own: readonly Price[] = [{ ...row, source: 'own measurement' }]
    expect(createPriceOf({ now: () => '2026-11-15T00:00:00.000Z', prices: [...own, ...prices] })(usage, 'ollama/qwen3')).toBeCloseTo(
      0.1,
      12,
    )
  })
})

describe('the price table', () => {
  it('has a date and a source for every row, plausible prices, and rows for longer prompts after those for shorter ones', () => {
    for (const row of prices) {
      expect(row.as_of).toMatch(/^2026-\d\d-\d\d$/)
      expect(row.source).not.toBe('')
      expect(row.cacheRead).toBeLessThan(row.input)
      expect(row.cacheWrite).toBeGreaterThanOrEqual(row.input)
      expect(row.output).toBeGreaterThan(row.input)
    }
    const later = prices.filter((row, index) => prices[index - 1]?.model === row.model && row.from === undefined)
    for (const row of later) expect(row.input).toBeGreaterThan(prices[prices.indexOf(row) - 1]?.input ?? 0)
  })
})
