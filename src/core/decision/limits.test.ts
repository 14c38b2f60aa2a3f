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
  salvageAnswer,
  steerWrapUp,
} from './limits.ts'

type End = 'ok' | 'bad' | `refused:${string}`

/** What each round of a turn led to, by iteration. A turn ends with its first exit or wrap-up. */
function turn(ends: readonly End[], maxRounds = 15): readonly string[] {
  let repairs: RepairCount = noRepairs
  const led: string[] = []
  for (const [iteration, end] of ends.entries()) {
    const left = maxRounds - iteration - 1
    const step =
      end === 'ok'
        ? { repairs: afterAcceptedRound(repairs), next: 'go' }
        : end === 'bad'
          ? afterRejectedResponse(repairs, left)
          : afterToolRefusal(repairs, { code: end, toolId: 't' }, left)
    repairs = step.repairs
    led.push(step.next)
    if (step.next === 'exit' || step.next === 'wrap_up') break
  }
  return led
}

describe('repairs', () => {
  it('loop 17.62: failures that were overcome are forgiven', () => {
    expect(turn(['bad', 'bad', 'ok', 'ok', 'ok', 'bad'])).toEqual(['repair', 'repair', 'go', 'go', 'go', 'repair'])
  })

  it('end the turn at the third failure in a row, and at the seventh in all', () => {
    expect(turn(['bad', 'bad', 'bad'])).toEqual(['repair', 'repair', 'exit'])
    expect(turn(['bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad']).at(-1)).toBe('exit')
    expect(turn(['bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok', 'bad', 'ok']).at(-1)).toBe('go')
  })

  it('loop 17.64: a failure in the last round leads to a wrap-up, not to a repair', () => {
    const ok = Array.from({ length: 14 }, () => 'ok' as const)
    expect(turn([...ok, 'bad']).at(-1)).toBe('wrap_up')
    expect(turn([...ok.slice(2), 'bad', 'bad', 'bad']).at(-1)).toBe('exit') // out of repairs: that is no matter of rounds
  })

  it('are spent by a tool that refuses three times in the same way', () => {
    const same = (times: number) => Array.from({ length: times }, () => 'refused:plan_mode' as const)
    expect(turn([...same(2), 'bad', 'bad'])).toEqual(['repair', 'repair', 'repair', 'repair'])
    expect(turn([...same(3), 'bad', 'bad'])).toEqual(['repair', 'repair', 'repair', 'repair', 'exit'])
    expect(turn([...same(2), 'refused:plan_steps', ...same(2), 'bad', 'bad']).at(-1)).toBe('repair')
    expect(turn([...same(2), 'ok', ...same(2), 'bad', 'bad']).at(-1)).toBe('repair')
    expect(turn(same(9), 99)).toEqual([...same(8).map(() => 'repair'), 'exit'])
  })

  it('never let a turn fail for ever', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<End>('bad', 'refused:a', 'refused:b'), { minLength: 40, maxLength: 40 }), (ends) => {
        expect(['exit', 'wrap_up']).toContain(turn(ends).at(-1))
      }),
    )
  })
})

describe('a delivered answer', () => {
  const broken = { violation: { code: 'protocol_violation.action_schema_error' }, cut: false }

  it('loop 17.65: stands although the rest of the response is broken', () => {
    expect(salvageAnswer({ ...broken, delivered: 'A [[S:1]]\n' })).toEqual({
      action: 'complete',
      answer: 'A [[S:1]]',
      followups: [],
      truncated: false,
    })
    expect(salvageAnswer({ ...broken, delivered: 'A', cut: true })).toMatchObject({ truncated: true })
  })

  it('does not stand when it is blank, or when the stream broke', () => {
    expect(salvageAnswer({ ...broken, delivered: ' \n' })).toBeUndefined()
    expect(salvageAnswer({ ...broken, delivered: undefined })).toBeUndefined()
    expect(salvageAnswer({ ...broken, delivered: 'A', violation: { code: 'service_interrupted' } })).toBeUndefined()
  })
})

describe('a wrap-up', () => {
  const call = (toolId: string): CallDecision => ({ action: 'call_tool', notes: '', toolId, params: {}, paramKeys: [] })
  const answer = { action: 'complete', answer: 'A', followups: [], truncated: false } as const

  it('loop 17.74: of a budget takes an answer, and nothing else', () => {
    expect(checkWrapUp(budgetWrapUp, answer)).toEqual({ verdict: 'answer', decision: answer })
    expect(checkWrapUp(budgetWrapUp, call('react.write'))).toEqual({ verdict: 'stop' })
    expect(checkWrapUp(budgetWrapUp, undefined)).toEqual({ verdict: 'stop' })
  })

  it('loop 17.92: of a steer allows two rounds, and only tools that put things in order', () => {
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
