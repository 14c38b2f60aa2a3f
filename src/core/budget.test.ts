import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkBudget,
  createBudget,
  extraRoundsOf,
  grantExtraRounds,
  maxRoundsOf,
  remainingRounds,
  spend,
  usableExtraRounds,
} from './budget.ts'

const used = (rounds: number, settings = {}) => spend(createBudget(settings, 0), { rounds })

describe('rounds', () => {
  it.each([undefined, 0, -3, Number.NaN, Number.POSITIVE_INFINITY, 0.4])('are 15 when the setting is %s', (maxRounds) => {
    expect(maxRoundsOf(createBudget(maxRounds === undefined ? {} : { maxRounds }, 0))).toBe(15)
  })

  it('loop 17.73: end in a wrap-up', () => {
    expect(checkBudget(used(14), 0)).toBe('go')
    expect(checkBudget(used(15), 0)).toBe('wrap_up:rounds')
    expect(checkBudget(used(99), 0)).toBe('wrap_up:rounds')
    expect(remainingRounds(used(99))).toBe(0)
  })
})

describe('extra rounds', () => {
  it('loop 17.88: a followup adds one round, once, however often it is delivered', () => {
    const budget = grantExtraRounds(grantExtraRounds(used(15), 'e1'), 'e1')
    expect([maxRoundsOf(budget), checkBudget(budget, 0)]).toEqual([16, 'go'])
  })

  it('stop at their limit, which is maxRounds by default', () => {
    const grantMany = (settings: object) =>
      Array.from({ length: 9 }, (_, i) => `e${i}`).reduce((b, id) => grantExtraRounds(b, id, 4), used(0, settings))
    expect(maxRoundsOf(grantMany({ maxRounds: 5 }))).toBe(10)
    expect(maxRoundsOf(grantMany({ maxRounds: 5, creditCap: 2 }))).toBe(7)
    expect(maxRoundsOf(grantMany({ maxRounds: 5, creditCap: 0 }))).toBe(5)
    expect(maxRoundsOf(grantMany({ maxRounds: 5, creditCap: Number.NaN }))).toBe(5)
    expect(usableExtraRounds(grantMany({ maxRounds: 5, creditCap: 2 }))).toBe(2)
  })

  it('loop 17.97: a steer adds none, and an external event only when it is reactive', () => {
    expect(extraRoundsOf({ kind: 'followup' })).toBe(1)
    expect(extraRoundsOf({ kind: 'steer', payload: { reactive: true, iteration_credit: 5 } })).toBe(0)
    expect(extraRoundsOf({ kind: 'feedback' })).toBe(0)
    expect(extraRoundsOf({ kind: 'external', payload: { event: { type: 'event.canvas' } } })).toBe(0)
    expect(extraRoundsOf({ kind: 'external', payload: { event: { reactive: true } } })).toBe(1)
    expect(extraRoundsOf({ kind: 'external', payload: { event: { reactive: false }, reactive: true } })).toBe(0)
  })

  it('are those of the event itself, else those of its envelope, else one', () => {
    const payload = { event: { iteration_credit: 4 }, iteration_credit: 3 }
    expect(extraRoundsOf({ kind: 'followup', payload })).toBe(4)
    expect(extraRoundsOf({ kind: 'followup', payload: { iteration_credit: 3 } })).toBe(3)
    expect(extraRoundsOf({ kind: 'followup', payload: 'text' })).toBe(1)
    expect(extraRoundsOf({ kind: 'followup', payload: { iteration_credit: -1 } })).toBe(0)
    expect(extraRoundsOf({ kind: 'followup', payload: { iteration_credit: 'much' } })).toBe(1)
  })
})

describe('time and money', () => {
  it('end the turn in a wrap-up when they are used up', () => {
    const budget = createBudget({ maxMilliseconds: 1000, maxMoney: 2 }, 5000)
    expect(checkBudget(budget, 5999)).toBe('go')
    expect(checkBudget(budget, 6000)).toBe('wrap_up:time')
    expect(checkBudget(spend(budget, { money: 1.5 }), 5000)).toBe('go')
    expect(checkBudget(spend(budget, { money: 2 }), 5000)).toBe('wrap_up:money')
  })

  it('include the expected cost of the next decision', () => {
    const budget = spend(createBudget({ maxMoney: 2 }, 0), { money: 1.5 })
    expect([checkBudget(budget, 0, 0.5), checkBudget(budget, 0, 0.6)]).toEqual(['go', 'wrap_up:money'])
  })
})

it('never has more than twice the base rounds, whatever is granted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.array(fc.tuple(fc.string(), fc.double())), (maxRounds, grants) => {
      const budget = grants.reduce((b, [id, amount]) => grantExtraRounds(b, id, amount), createBudget({ maxRounds }, 0))
      expect(maxRoundsOf(budget)).toBeLessThanOrEqual(2 * maxRounds)
      expect(checkBudget(spend(budget, { rounds: 2 * maxRounds }), 0)).toBe('wrap_up:rounds')
    }),
  )
})
