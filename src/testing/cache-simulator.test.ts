import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Part } from '../core/render/types.ts'
import { idealBill, rates, uncachedBill } from './cache-bills.ts'
import { createCacheSimulator } from './cache-simulator.ts'

/** One token per character, so that a reader can count the tokens of a text. */
const count = (text: string) => text.length
const text = (name: string, tokens: number): Part => ({ type: 'text', text: name.repeat(tokens) })
const marked = (part: Part): Part => ({ ...part, cache: true })
const anthropic = (minimumTokens = 0, ttlSeconds = 300) => createCacheSimulator({ kind: 'anthropic', minimumTokens, ttlSeconds, count })
const prefix = (minimumTokens = 0, blockTokens = 1) =>
  createCacheSimulator({ kind: 'prefix', minimumTokens, ttlSeconds: 300, count, blockTokens })
const many = (length: number, from = 0): readonly Part[] => Array.from({ length }, (_, i) => text(`p${from + i}.`, 1))

describe('a cache with explicit marks', () => {
  it('writes the prefix up to the last mark and bills the rest in full', () => {
    const bill = anthropic().call({ system: 'ssss', parts: [marked(text('a', 10)), text('z', 7)], at: 0 })
    expect(bill).toEqual({ uncached: 7, cacheRead: 0, cacheWrite: 14, cost: 7 + 14 * 1.25 })
  })

  it('reads the prefix it wrote and writes only the new part', () => {
    const cache = anthropic()
    cache.call({ system: 'ssss', parts: [marked(text('a', 10)), text('y', 7)], at: 0 })
    const bill = cache.call({ system: 'ssss', parts: [text('a', 10), marked(text('b', 3)), text('z', 7)], at: 9 })
    expect(bill).toEqual({ uncached: 7, cacheRead: 14, cacheWrite: 3, cost: 7 + 1.4 + 3.75 })
  })

  it('finds a prefix only if an earlier mark was at its end', () => {
    const cache = anthropic()
    cache.call({ system: '', parts: [text('a', 10), marked(text('b', 10))], at: 0 })
    expect(cache.call({ system: '', parts: [marked(text('a', 10)), text('c', 10)], at: 1 })).toMatchObject({ cacheRead: 0, cacheWrite: 10 })
  })

  it('reads nothing after the first byte that differs', () => {
    const cache = anthropic()
    cache.call({ system: 'old', parts: [marked(text('a', 10))], at: 0 })
    expect(cache.call({ system: 'new', parts: [marked(text('a', 10))], at: 1 })).toMatchObject({ cacheRead: 0, cacheWrite: 13 })
  })

  it('does not find a text that is cut into parts differently', () => {
    const cache = anthropic()
    cache.call({ system: '', parts: [text('a', 5), marked(text('a', 5))], at: 0 })
    expect(cache.call({ system: '', parts: [marked(text('a', 10))], at: 1 }).cacheRead).toBe(0)
  })

  it('looks back over 20 parts from a mark, including the marked part', () => {
    const grownBy = (added: number) => {
      const cache = anthropic()
      cache.call({ system: '', parts: [marked(text('a', 100))], at: 0 })
      return cache.call({ system: '', parts: [text('a', 100), ...many(added - 1), marked(text('z', 1))], at: 1 }).cacheRead
    }
    expect(grownBy(19)).toBe(100)
    expect(grownBy(20)).toBe(0)
  })

  it('looks back from every mark, so that repeating an old mark bridges any distance', () => {
    const cache = anthropic()
    cache.call({ system: '', parts: [marked(text('a', 100))], at: 0 })
    const bill = cache.call({ system: '', parts: [marked(text('a', 100)), ...many(60), marked(text('z', 1))], at: 1 })
    expect(bill.cacheRead).toBe(100)
  })

  it('caches nothing below the minimum, without an error', () => {
    const cache = anthropic(50)
    const short = { system: 'ssss', parts: [marked(text('a', 10))], at: 0 }
    expect(cache.call(short)).toEqual({ uncached: 14, cacheRead: 0, cacheWrite: 0, cost: 14 })
    expect(cache.call(short)).toEqual({ uncached: 14, cacheRead: 0, cacheWrite: 0, cost: 14 })
  })

  it('expires an entry that was not read for its time to live', () => {
    const cache = anthropic(0, 300)
    const same = (at: number) => cache.call({ system: '', parts: [marked(text('a', 10))], at }).cacheRead
    expect([same(0), same(299), same(598), same(898)]).toEqual([0, 10, 10, 0])
  })

  it('renews every marked entry within the prefix that is read, and no other', () => {
    const cache = anthropic(0, 300)
    const one = text('a', 10)
    cache.call({ system: 'ssss', parts: [marked(one)], at: 0 })
    // reads the entry at `one`, and renews the entry of the system text
    cache.call({ system: 'ssss', parts: [one, marked(text('b', 10))], at: 200 })
    expect(cache.call({ system: 'ssss', parts: [one, text('b', 10), marked(text('c', 1))], at: 450 }).cacheRead).toBe(24)
    expect(cache.call({ system: 'ssss', parts: [marked(one)], at: 520 }).cacheRead).toBe(4)
  })

  it('writes no entry at a mark inside the prefix that was read', () => {
    const [one, two] = [text('a', 10), text('b', 10)]
    const cache = anthropic()
    cache.call({ system: '', parts: [one, marked(two)], at: 0 })
    cache.call({ system: '', parts: [marked(one), marked(two)], at: 1 })
    expect(cache.call({ system: '', parts: [marked(one), text('c', 1)], at: 2 })).toMatchObject({ cacheRead: 0, cacheWrite: 10 })
  })

  it('rejects a fifth mark, counting that of the system text', () => {
    const parts = many(4).map(marked)
    expect(() => anthropic().call({ system: 's', parts, at: 0 })).toThrow(RangeError)
    expect(() => anthropic().call({ system: '', parts, at: 0 })).not.toThrow()
  })

  it('rejects a mark on an empty part', () => {
    expect(() => anthropic().call({ system: 's', parts: [marked({ type: 'text', text: '' })], at: 0 })).toThrow(RangeError)
  })

  it('compares images by their bytes', () => {
    const image = (sha256: string): Part => ({ type: 'image', media_type: 'image/png', blob: { sha256, size: 1 }, cache: true })
    const cache = anthropic()
    cache.call({ system: '', parts: [image('one')], at: 0 })
    expect(cache.call({ system: '', parts: [image('one')], at: 1 }).uncached).toBe(0)
    expect(cache.call({ system: '', parts: [image('two')], at: 1 }).cacheRead).toBe(0)
  })
})

describe('a cache of automatic prefixes', () => {
  it('reads the longest common prefix with any live prompt, in whole blocks, and writes at no cost', () => {
    const cache = prefix(8, 4)
    cache.call({ system: 'ssss', parts: [text('a', 7), text('y', 5)], at: 0 })
    cache.call({ system: 'ssss', parts: [text('b', 50)], at: 0 })
    expect(cache.call({ system: 'ssss', parts: [text('a', 9), text('z', 5)], at: 1 })).toEqual({
      uncached: 18 - 8,
      cacheRead: 8,
      cacheWrite: 0,
      cost: 10.8,
    })
  })

  it('ignores marks, needs the minimum, and expires entries', () => {
    const cache = prefix(10, 1)
    cache.call({ system: '', parts: [text('a', 20)], at: 0 })
    expect(cache.call({ system: '', parts: [text('a', 9)], at: 1 }).cacheRead).toBe(0)
    expect(cache.call({ system: '', parts: many(9).map(marked), at: 1 }).cacheRead).toBe(0)
    expect(cache.call({ system: '', parts: [text('a', 20)], at: 299 }).cacheRead).toBe(20)
    expect(cache.call({ system: '', parts: [text('a', 20)], at: 700 }).cacheRead).toBe(0)
  })
})

const growing = fc
  .array(fc.record({ adds: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 }), marks: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((steps) => {
    const stable: Part[] = []
    return steps.map(({ adds, marks }, at) => {
      stable.push(...adds.map((tokens, i) => text(`${at}.${i};`, tokens)))
      const last = stable.at(-1) as Part
      const parts = [...stable.slice(0, -1), marks ? marked(last) : last, text(`tail${at}`, 3)]
      return { system: 'system text', parts, stableParts: stable.length, at }
    })
  })

describe('the ideal bill', () => {
  it('writes each stable token once, reads it in every later call, and pays the tail in full', () => {
    const calls = [
      { system: 'ssss', parts: [text('a', 10), text('y', 7)], stableParts: 1, at: 0 },
      { system: 'ssss', parts: [text('a', 10), text('b', 3), text('z', 7)], stableParts: 2, at: 9_999 },
    ]
    const tokens = { uncached: 14, cacheRead: 14, cacheWrite: 17 }
    expect(idealBill(calls, count)).toEqual({ ...tokens, cost: 14 * rates.uncached + 14 * rates.cacheRead + 17 * rates.cacheWrite })
    expect(uncachedBill(calls, count).cost).toBe(14 + 7 + 14 + 10)
  })

  it('has as many tokens as the simulated bills, and no placement of marks reads more from the cache', () => {
    fc.assert(
      fc.property(growing, (calls) => {
        const cache = anthropic(20)
        const bills = calls.map((call) => cache.call(call))
        const total = (bill: { uncached: number; cacheRead: number; cacheWrite: number }) =>
          bill.uncached + bill.cacheRead + bill.cacheWrite
        const sum = (pick: (bill: (typeof bills)[number]) => number) => bills.reduce((all, bill) => all + pick(bill), 0)
        const ideal = idealBill(calls, count)
        expect(total(ideal)).toBe(uncachedBill(calls, count).uncached)
        expect(sum(total)).toBe(total(ideal))
        expect(sum((bill) => bill.cacheRead)).toBeLessThanOrEqual(ideal.cacheRead)
      }),
    )
  })
})
