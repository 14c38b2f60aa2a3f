import { expect, it } from 'vitest'
import type { CacheRow } from '../cache/cache-report.ts'
import { createMiss } from '../cache/misses.ts'
import { missPrice } from './miss-price.ts'

const usage = { uncached: 100, cacheRead: 1_000, cacheWrite: 500, output: 10, reasoning: 0 }
const charge = { uncached: 3_000, cacheRead: 300, cacheWrite: 1_875, output: 150 }
const row = (more: Partial<CacheRow>): CacheRow => ({
  seq: 1,
  turnId: 't',
  iteration: 0,
  ts: '',
  model: 'm',
  segments: [],
  reach: 0,
  predicted: { read: 1_500, write: 0, uncached: 100 },
  billed: { read: 1_000, write: 500, uncached: 100 },
  ...more,
})

it('tokens that were not read cost what their second write cost, and then what uncached tokens cost', () => {
  const lost = (tokens: number) => missPrice(row({ miss: createMiss('hide', tokens) }), { usage, charge })
  expect(lost(400)).toBe(1_500)
  expect(lost(500)).toBe(1_875)
  expect(lost(550)).toBe(1_875 + 1_500)
})

it('tokens that were not written cost what uncached tokens cost', () => {
  const predicted = { read: 1_000, write: 550, uncached: 50 }
  expect(missPrice(row({ predicted, miss: createMiss('mark limit', 50) }), { usage, charge })).toBe(1_500)
})

it('a miss has no price if the price of the call is not known, and no more than the prompt if it is an estimate', () => {
  expect(missPrice(row({ miss: createMiss('hide', 400) }), { usage, charge: undefined })).toBe(undefined)
  expect(missPrice(row({}), { usage, charge })).toBe(undefined)
  expect(missPrice(row({ billed: undefined, miss: createMiss('not reported', 9_999) }), { usage, charge })).toBe(3_000)
})
