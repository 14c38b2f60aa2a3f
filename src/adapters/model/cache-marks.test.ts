import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CostScript, scriptedCalls } from '../../../test/support/prompts/cost-script.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import type { Part } from '../../core/render/types.ts'
import { idealBill } from '../../testing/cache-bills.ts'
import { createCacheSimulator } from '../../testing/cache-simulator.ts'
import { createCacheEnds, selectMarks } from './cache-marks.ts'
import { nonEmptyParts } from './prompt.ts'
import { markRulesOf, providerRules } from './provider-rules.ts'

const parts = (...marks: readonly number[]): readonly Part[] =>
  Array.from({ length: 12 }, (_, index) => ({ type: 'text', text: `p${index}`, ...(marks.includes(index) && { cache: true as const }) }))
const anthropic = markRulesOf(providerRules.anthropic, 'claude-sonnet-5-5')
const breakpoints = markRulesOf(providerRules.openai, 'gpt-6-sol')
const none = markRulesOf(providerRules.google, 'gemini-3.8-flash')

describe('selectMarks', () => {
  it('keeps all marks of the prompt when they fit', () => {
    expect([...selectMarks(parts(1, 4, 9), anthropic, undefined)]).toEqual([1, 4, 9])
  })

  it('keeps the latest three when there are more, because the system text takes the fourth', () => {
    expect([...selectMarks(parts(0, 1, 4, 9), anthropic, undefined)]).toEqual([1, 4, 9])
  })

  it('repeats the last mark of the previous call where entries are found only at a mark', () => {
    expect([...selectMarks(parts(1, 9), breakpoints, 6)]).toEqual([1, 6, 9])
    expect([...selectMarks(parts(1, 4, 9), breakpoints, 6)]).toEqual([4, 6, 9])
    // the prompt is shorter now, so the part with the earlier mark does not exist
    expect([...selectMarks(parts(1, 9), breakpoints, 11)]).toEqual([1, 9])
    expect([...selectMarks(parts(1, 9), anthropic, 6)]).toEqual([1, 9])
  })

  it('sends no marks to a provider that caches automatically', () => {
    expect([...selectMarks(parts(1, 9), none, 6)]).toEqual([])
  })

  it('never sends more marks than the provider allows, and always sends the last one', () => {
    const positions = fc.uniqueArray(fc.nat(11), { minLength: 1 })
    fc.assert(
      fc.property(positions, fc.option(fc.nat(20), { nil: undefined }), fc.constantFrom(anthropic, breakpoints), (marks, before, rules) => {
        const sent = selectMarks(parts(...marks), rules, before)
        expect(sent.size + 1).toBeLessThanOrEqual(rules.maxMarks)
        expect(sent).toContain(Math.max(...marks))
      }),
    )
  })
})

describe('nonEmptyParts', () => {
  it('drops blank parts and moves their mark to the part before', () => {
    const blank: Part = { type: 'text', text: '', cache: true }
    expect(nonEmptyParts([...parts(1).slice(0, 3), blank])).toEqual(parts(1, 2).slice(0, 3))
    expect(nonEmptyParts([blank])).toEqual([])
    expect(nonEmptyParts([...parts(1).slice(0, 3), { ...blank, text: '\n\n ' }])).toEqual(parts(1, 2).slice(0, 3))
  })
})

it('createCacheEnds remembers the most recent conversations only', () => {
  const ends = createCacheEnds(2)
  ends.set('a', 1)
  ends.set('b', 2)
  ends.set('a', 3)
  ends.set('c', 4)
  expect([ends.get('a'), ends.get('b'), ends.get('c')]).toEqual([3, undefined, 4])
  ends.set('a', undefined)
  expect(ends.get('a')).toBeUndefined()
})

describe('the cost of 120 rounds with a cache that finds entries only at marks', () => {
  const script: CostScript = {
    turns: 20,
    roundsPerTurn: 6,
    resultCharacters: 2_000,
    announceTokens: 700,
    callsPerRound: 1,
    resultsPerCall: 1,
    foldEvery: 0,
  }

  /** The simulated cost, divided by the lowest possible cost. */
  function costRatio(repeatLastMark: boolean): number {
    const calls = scriptedCalls(script)
    const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 1_024, ttlSeconds: 1_800, count: roughTokens, lookBack: 1 })
    let end: number | undefined
    const costs = calls.map(({ system, parts: wanted, at }) => {
      const marks = selectMarks(wanted, breakpoints, repeatLastMark ? end : undefined)
      end = wanted.findLastIndex(({ cache: marked }) => marked)
      const sent = wanted.map(({ cache: _, ...part }, index) => (marks.has(index) ? { ...part, cache: true as const } : part))
      return cache.call({ system, parts: sent, at }).cost
    })
    return costs.reduce((sum, cost) => sum + cost) / idealBill(calls, roughTokens).cost
  }

  it('is near the minimum because the last mark of the previous call is repeated', () => {
    expect(costRatio(true)).toBeLessThanOrEqual(1.02)
    expect(costRatio(false)).toBeGreaterThan(1.2)
  })
})
