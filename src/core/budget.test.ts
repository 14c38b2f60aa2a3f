import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bonusOf, creditOf, grant, maxRoundsOf, openBudget, remainingRounds, spend, verdict } from './budget.ts'

const used = (rounds: number, settings = {}) => spend(openBudget(settings, 0), { rounds })

describe('rounds', () => {
  it.each([undefined, 0, -3, Number.NaN, Number.POSITIVE_INFINITY, 0.4])('are 15 when the setting is %s', (maxRounds) => {
    expect(maxRoundsOf(openBudget(maxRounds === undefined ? {} : { maxRounds }, 0))).toBe(15)
  })

  it('loop 17.73: end in a wrap-up, not in silence', () => {
    expect(verdict(used(14), 0)).toBe('go')
    expect(verdict(used(15), 0)).toBe('wrap_up:rounds')
    expect(verdict(used(99), 0)).toBe('wrap_up:rounds')
    expect(remainingRounds(used(99))).toBe(0)
  })
})

describe('credit', () => {
  it('loop 17.88: a followup adds one round, once, however often it is delivered', () => {
    const budget = grant(grant(used(15), 'e1'), 'e1')
    expect([maxRoundsOf(budget), verdict(budget, 0)]).toEqual([16, 'go'])
  })

  it('stops at its cap, which is the base unless said otherwise', () => {
    const eager = (settings: object) => Array.from({ length: 9 }, (_, i) => `e${i}`).reduce((b, id) => grant(b, id, 4), used(0, settings))
    expect(maxRoundsOf(eager({ maxRounds: 5 }))).toBe(10)
    expect(maxRoundsOf(eager({ maxRounds: 5, creditCap: 2 }))).toBe(7)
    expect(maxRoundsOf(eager({ maxRounds: 5, creditCap: 0 }))).toBe(5)
    expect(maxRoundsOf(eager({ maxRounds: 5, creditCap: Number.NaN }))).toBe(5)
    expect(bonusOf(eager({ maxRounds: 5, creditCap: 2 }))).toBe(2)
  })

  it('loop 17.97: a steer brings none, and something from outside only when it is reactive', () => {
    expect(creditOf({ kind: 'followup' })).toBe(1)
    expect(creditOf({ kind: 'steer', payload: { reactive: true, iteration_credit: 5 } })).toBe(0)
    expect(creditOf({ kind: 'feedback' })).toBe(0)
    expect(creditOf({ kind: 'external', payload: { event: { type: 'event.canvas' } } }, 7)).toBe(0)
    expect(creditOf({ kind: 'external', payload: { event: { reactive: true } } })).toBe(1)
    expect(creditOf({ kind: 'external', payload: { event: { reactive: false }, reactive: true } })).toBe(0)
  })

  it('is what the occurrence says, else its envelope, else its source', () => {
    const payload = { event: { iteration_credit: 4 }, iteration_credit: 3 }
    expect(creditOf({ kind: 'followup', payload }, 2)).toBe(4)
    expect(creditOf({ kind: 'followup', payload: { iteration_credit: 3 } }, 2)).toBe(3)
    expect(creditOf({ kind: 'followup', payload: 'text' }, 2)).toBe(2)
    expect(creditOf({ kind: 'followup', payload: { iteration_credit: -1 } }, 2)).toBe(0)
    expect(creditOf({ kind: 'followup', payload: { iteration_credit: 'much' } })).toBe(1)
  })
})

describe('time and money', () => {
  it('end the turn in a wrap-up as soon as they are used up', () => {
    const budget = openBudget({ maxMilliseconds: 1000, maxMoney: 2 }, 5000)
    expect(verdict(budget, 5999)).toBe('go')
    expect(verdict(budget, 6000)).toBe('wrap_up:time')
    expect(verdict(spend(budget, { money: 1.5 }), 5000)).toBe('go')
    expect(verdict(spend(budget, { money: 2 }), 5000)).toBe('wrap_up:money')
  })

  it('count what the next decision is likely to cost', () => {
    const budget = spend(openBudget({ maxMoney: 2 }, 0), { money: 1.5 })
    expect([verdict(budget, 0, 0.5), verdict(budget, 0, 0.6)]).toEqual(['go', 'wrap_up:money'])
  })
})

it('never goes on for ever: whatever is granted, the rounds end', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.array(fc.tuple(fc.string(), fc.double())), (maxRounds, grants) => {
      const budget = grants.reduce((b, [id, amount]) => grant(b, id, amount), openBudget({ maxRounds }, 0))
      expect(maxRoundsOf(budget)).toBeLessThanOrEqual(2 * maxRounds)
      expect(verdict(spend(budget, { rounds: 2 * maxRounds }), 0)).toBe('wrap_up:rounds')
    }),
  )
})
