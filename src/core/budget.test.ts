import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterAcceptedRound,
  afterRejectedResponse,
  afterToolRefusal,
  budgetWrapUp,
  checkBudget,
  checkWrapUp,
  createBudget,
  extraRoundsOf,
  grantExtraRounds,
  maxRoundsOf,
  noRepairs,
  openWrapUp,
  type RepairCount,
  remainingRounds,
  spend,
  steerWrapUp,
  usableExtraRounds,
} from './budget.ts'
import type { CallDecision } from './decision/decision.ts'

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

type End = 'ok' | 'bad' | `refused:${string}`

/** The next step after each round of a turn, up to the first `exit` or `wrap_up`. */
function stepsAfter(ends: readonly End[], maxRounds = 15): readonly string[] {
  let repairs: RepairCount = noRepairs
  const steps: string[] = []
  for (const [iteration, end] of ends.entries()) {
    const left = maxRounds - iteration - 1
    const step =
      end === 'ok'
        ? { repairs: afterAcceptedRound(repairs), next: 'go' }
        : end === 'bad'
          ? afterRejectedResponse(repairs, left)
          : afterToolRefusal(repairs, { code: end, toolId: 't' }, left)
    repairs = step.repairs
    steps.push(step.next)
    if (step.next === 'exit' || step.next === 'wrap_up') break
  }
  return steps
}

describe('repairs', () => {
  it('loop 17.62: count consecutive failures; an accepted round starts a new count', () => {
    expect(stepsAfter(['bad', 'bad', 'ok', 'ok', 'ok', 'bad'])).toEqual(['repair', 'repair', 'go', 'go', 'go', 'repair'])
  })

  it('end the turn at the third consecutive failure and at the seventh failure of the turn', () => {
    expect(stepsAfter(['bad', 'bad', 'bad'])).toEqual(['repair', 'repair', 'exit'])
    expect(stepsAfter(['bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad']).at(-1)).toBe('exit')
    expect(stepsAfter(['bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok']).at(-1)).toBe('go')
  })

  it('loop 17.64: a failure in the last round leads to a wrap-up, not to a repair', () => {
    const ok = Array.from({ length: 14 }, () => 'ok' as const)
    expect(stepsAfter([...ok, 'bad']).at(-1)).toBe('wrap_up')
    // No repair is left, so the turn ends although rounds are left.
    expect(stepsAfter([...ok.slice(2), 'bad', 'bad', 'bad']).at(-1)).toBe('exit')
  })

  it('are used up by a tool that refuses three times with the same code', () => {
    const same = (times: number) => Array.from({ length: times }, () => 'refused:plan_mode' as const)
    expect(stepsAfter([...same(2), 'bad', 'bad'])).toEqual(['repair', 'repair', 'repair', 'repair'])
    expect(stepsAfter([...same(3), 'bad', 'bad'])).toEqual(['repair', 'repair', 'repair', 'repair', 'exit'])
    expect(stepsAfter([...same(2), 'refused:plan_steps', ...same(2), 'bad', 'bad']).at(-1)).toBe('repair')
    expect(stepsAfter([...same(2), 'ok', ...same(2), 'bad', 'bad']).at(-1)).toBe('repair')
    expect(stepsAfter(same(9), 99)).toEqual([...same(8).map(() => 'repair'), 'exit'])
  })

  it('end every turn that only fails', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<End>('bad', 'refused:a', 'refused:b'), { minLength: 40, maxLength: 40 }), (ends) => {
        expect(['exit', 'wrap_up']).toContain(stepsAfter(ends).at(-1))
      }),
    )
  })
})

describe('a wrap-up', () => {
  const call = (toolId: string): CallDecision => ({ action: 'call_tool', notes: '', toolId, params: {}, paramKeys: [] })
  const answer = { action: 'complete', answer: 'A', followups: [], truncated: false } as const

  it('loop 17.74: after a used-up budget accepts an answer and no tool call', () => {
    expect(checkWrapUp(budgetWrapUp, answer)).toEqual({ verdict: 'answer', decision: answer })
    expect(checkWrapUp(budgetWrapUp, call('react.write'))).toEqual({ verdict: 'stop' })
    expect(checkWrapUp(budgetWrapUp, undefined)).toEqual({ verdict: 'stop' })
  })

  it('loop 17.92: after a steer allows two rounds and a few tools', () => {
    const first = checkWrapUp(steerWrapUp, call('react.write'))
    expect(first).toMatchObject({ verdict: 'call', wrapUp: { rounds: 1 } })
    expect(checkWrapUp(steerWrapUp, call('web_tools.web_search'))).toEqual({ verdict: 'stop' })
    const second = first.verdict === 'call' ? checkWrapUp(first.wrapUp, call('react.plan')) : first
    expect(second).toMatchObject({ verdict: 'call', wrapUp: { rounds: 0 } })
    expect(second.verdict === 'call' && checkWrapUp(second.wrapUp, call('react.write'))).toEqual({ verdict: 'stop' })
  })

  it('has at least one round and 512 tokens', () => {
    expect(openWrapUp(steerWrapUp, { rounds: 0, maxTokens: 1 })).toMatchObject({ rounds: 1, maxTokens: 512 })
    expect(openWrapUp(steerWrapUp)).toEqual(steerWrapUp)
  })
})
