import { describe, expect, it } from 'vitest'
import { createOverloadGuard } from './overload.ts'

function setUp(limits = { waitingMessages: 20, messageWaitMs: 100 }) {
  const clock = { ms: 5_000_000 }
  const turns = { waitMs: 0, count: 0 }
  const slowCommits = (ms: number) => (turns.waitMs > ms ? turns.count : 0)
  const guard = createOverloadGuard(limits, { nowMs: () => clock.ms, slowCommits })
  const enter = (count: number, hasFiles = false) => Array.from({ length: count }, () => guard.enter(hasFiles))
  const refusal = () => {
    try {
      guard.enter(false)()
      return undefined
    } catch (error) {
      const { status, code, headers } = error as { status: number; code: string; headers: Record<string, string> }
      return { status, code, seconds: Number(headers['retry-after']) }
    }
  }
  return { clock, turns, enter, refusal }
}

describe('a server that has too much to do', () => {
  it('refuses a message when too many wait, and accepts one again when one of them is stored', () => {
    const { enter, refusal } = setUp()
    const [first] = enter(20)
    expect(refusal()).toEqual({ status: 503, code: 'server.overloaded', seconds: 1 })
    first?.()
    first?.()
    expect(refusal()).toBe(undefined)
  })

  it('refuses messages while the oldest waits too long', () => {
    const { clock, enter, refusal } = setUp()
    const [first, ...others] = enter(10)
    clock.ms += 100
    expect(refusal()).toBe(undefined)
    clock.ms += 1
    enter(0)
    expect(refusal()).toMatchObject({ status: 503 })
    first?.()
    expect(refusal()).toMatchObject({ status: 503 })
    for (const store of others) store()
    expect(refusal()).toBe(undefined)
  })

  it('refuses no message because of a slow disk alone, when few messages wait', () => {
    const { clock, enter, refusal } = setUp()
    enter(7)
    clock.ms += 10_000
    expect(refusal()).toBe(undefined)
  })

  it('refuses messages while many running turns wait three times as long to store an entry, although no message waits', () => {
    const { turns, refusal } = setUp()
    Object.assign(turns, { waitMs: 300, count: 500 })
    expect(refusal()).toBe(undefined)
    turns.waitMs = 301
    expect(refusal()).toMatchObject({ status: 503 })
    turns.count = 7
    expect(refusal()).toBe(undefined)
  })

  it('does not count messages with files, whose examination may take long, but refuses them too', () => {
    const { clock, enter, refusal } = setUp()
    enter(50, true)
    clock.ms += 10_000
    expect(refusal()).toBe(undefined)
    enter(20)
    expect(() => enter(1, true)).toThrow('too much to do')
  })

  it('tells clients to wait longer, the more of them it refuses', () => {
    const { clock, enter, refusal } = setUp()
    for (let round = 0; round < 2; round++) for (const store of enter(10)) store()
    enter(20)
    const seconds = Array.from({ length: 80 }, () => refusal()?.seconds)
    expect([seconds[0], seconds[19], seconds[20], seconds[79]]).toEqual([1, 1, 2, 4])
    clock.ms += 1_000
    expect(refusal()?.seconds).toBe(4) // the same as in the second before
    clock.ms += 2_000
    expect(refusal()?.seconds).toBe(1)
  })

  it('never tells a client to wait longer than five seconds', () => {
    const { enter, refusal } = setUp()
    enter(20)
    const seconds = Array.from({ length: 1_000 }, () => refusal()?.seconds)
    expect(seconds.at(-1)).toBe(5)
  })
})
