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

describe('marks on the wire', () => {
  it('are those of the prompt when there is room', () => {
    expect([...selectMarks(parts(1, 4, 9), anthropic, undefined)]).toEqual([1, 4, 9])
  })

  it('are the latest three beside that of the system text when there is not', () => {
    expect([...selectMarks(parts(0, 1, 4, 9), anthropic, undefined)]).toEqual([1, 4, 9])
  })

  it('stand once more where the call before ended, where an entry is found only under a mark', () => {
    expect([...selectMarks(parts(1, 9), breakpoints, 6)]).toEqual([1, 6, 9])
    expect([...selectMarks(parts(1, 4, 9), breakpoints, 6)]).toEqual([4, 6, 9])
    expect([...selectMarks(parts(1, 9), breakpoints, 11)]).toEqual([1, 9]) // the timeline is shorter now: that place is in the tail
    expect([...selectMarks(parts(1, 9), anthropic, 6)]).toEqual([1, 9])
  })

  it('are none where the provider finds the beginning by itself', () => {
    expect([...selectMarks(parts(1, 9), none, 6)]).toEqual([])
  })

  it('are never more than the provider takes, and never lack the last', () => {
    const places = fc.uniqueArray(fc.nat(11), { minLength: 1 })
    fc.assert(
      fc.property(places, fc.option(fc.nat(20), { nil: undefined }), fc.constantFrom(anthropic, breakpoints), (marks, before, rules) => {
        const sent = selectMarks(parts(...marks), rules, before)
        expect(sent.size + 1).toBeLessThanOrEqual(rules.maxMarks)
        expect(sent).toContain(Math.max(...marks))
      }),
    )
  })

  it('move to the part before when a part says nothing', () => {
    const silent: Part = { type: 'text', text: '', cache: true }
    expect(nonEmptyParts([...parts(1).slice(0, 3), silent])).toEqual(parts(1, 2).slice(0, 3))
    expect(nonEmptyParts([silent])).toEqual([])
    expect(nonEmptyParts([...parts(1).slice(0, 3), { ...silent, text: '\n\n ' }])).toEqual(parts(1, 2).slice(0, 3))
  })
})

it('remembers the ends of the latest conversations only', () => {
  const ends = createCacheEnds(2)
  ends.set('a', 1)
  ends.set('b', 2)
  ends.set('a', 3)
  ends.set('c', 4)
  expect([ends.of('a'), ends.of('b'), ends.of('c')]).toEqual([3, undefined, 4])
  ends.set('a', undefined)
  expect(ends.of('a')).toBeUndefined()
})

describe('120 rounds on a cache that finds an entry only under a mark', () => {
  const script: CostScript = {
    turns: 20,
    roundsPerTurn: 6,
    resultCharacters: 2_000,
    announceTokens: 700,
    callsPerRound: 1,
    resultsPerCall: 1,
    foldEvery: 0,
  }

  /** What is billed, against the least that could be. */
  function billed(remembering: boolean): number {
    const calls = scriptedCalls(script)
    const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 1_024, ttlSeconds: 1_800, count: roughTokens, lookBack: 1 })
    let end: number | undefined
    const costs = calls.map(({ system, parts: wanted, at }) => {
      const marks = selectMarks(wanted, breakpoints, remembering ? end : undefined)
      end = wanted.findLastIndex(({ cache: marked }) => marked)
      const sent = wanted.map(({ cache: _, ...part }, index) => (marks.has(index) ? { ...part, cache: true as const } : part))
      return cache.call({ system, parts: sent, at }).cost
    })
    return costs.reduce((sum, cost) => sum + cost) / idealBill(calls, roughTokens).cost
  }

  it('cost what they must, because the end of the call before is marked again', () => {
    expect(billed(true)).toBeLessThanOrEqual(1.02)
    expect(billed(false)).toBeGreaterThan(1.2)
  })
})
