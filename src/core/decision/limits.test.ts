import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CallDecision } from './decision.ts'
import {
  afterAcceptedRound,
  afterRejectedResponse,
  afterToolRefusal,
  budgetWrapUp,
  checkWrapUp,
  noRepairs,
  openWrapUp,
  type RepairCount,
  steerWrapUp,
} from './limits.ts'

type End = 'ok' | 'bad' | `refused:${string}`

/** The next step after each round of a turn, up to the first exit or wrap-up. */
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
    expect(stepsAfter([...ok.slice(2), 'bad', 'bad', 'bad']).at(-1)).toBe('exit') // no repair is left, whatever the rounds
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
