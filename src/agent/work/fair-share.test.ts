import { describe, expect, it } from 'vitest'
import { createFairShare } from './fair-share.ts'

function create(slots = 1_000) {
  let now = 0
  const running = new Map<string, number>()
  const share = createFairShare({ slots, running: () => running, nowMs: () => now })
  return {
    share,
    running,
    advance(ms: number) {
      now += ms
    },
    /** Claims conversations of a tenant until it is left out. Returns how many were claimed, at most 100. */
    claimAll(tenant: string, ms: number): number {
      for (let count = 0; count < 100; count++) {
        if (share.leftOut().tenants.includes(tenant)) return count
        share.claimed(tenant, ms)
      }
      return 100
    },
  }
}

describe('the share of a tenant', () => {
  it('has no limit while there is one tenant', () => {
    const { share, claimAll } = create()
    expect(claimAll('a', 50)).toBe(100)
    expect(share.hasToQueue('a')).toBe(false)
  })

  it('ends after some claims, and comes back with time. The other tenants are served meanwhile', () => {
    const { share, claimAll, advance } = create()
    share.seen('b')
    expect(claimAll('a', 10)).toBe(7) // each costs 40 ms, and the allowance is 250 ms
    expect(share.leftOut()).toEqual({ tenants: ['a'], endsInMs: 30 })
    expect([share.hasToQueue('a'), share.hasToQueue('b')]).toEqual([true, false])
    advance(29)
    expect(share.leftOut().tenants).toEqual(['a'])
    advance(1)
    expect(share.leftOut()).toEqual({ tenants: [], endsInMs: undefined })
    expect(claimAll('a', 10)).toBe(1)
    expect(claimAll('b', 10)).toBe(4) // each costs 80 ms, because `a` is left out, too
  })

  it('is smaller when claims take longer, and when more tenants have many messages', () => {
    const claimsIn = (ms: number, tenants: readonly string[]) => {
      const { share, claimAll, advance } = create()
      for (const tenant of ['quiet', ...tenants]) share.seen(tenant)
      let count = 0
      for (let time = 0; time < 10_000; time += 5) {
        for (const tenant of tenants) count += claimAll(tenant, ms)
        advance(5)
      }
      return count
    }
    const [fast, slow, many] = [claimsIn(5, ['a']), claimsIn(20, ['a']), claimsIn(5, ['a', 'b', 'c', 'd'])]
    expect(fast / slow).toBeGreaterThan(3)
    expect(many / fast).toBeLessThan(1.5) // four tenants with many messages are not served four times as much
  })

  it('forgets a tenant that had nothing to do for a long time', () => {
    const { share, claimAll, advance } = create()
    share.seen('b')
    expect(claimAll('a', 10)).toBe(7)
    advance(11 * 60_000)
    expect(claimAll('a', 10)).toBe(100)
  })

  it('is smaller while starts take long, and recovers when they are fast again', () => {
    const { share, claimAll, advance } = create()
    share.seen('b')
    const started = (ms: number) => {
      for (let n = 0; n < 100; n++) share.started(ms)
    }
    started(40)
    expect(claimAll('a', 10)).toBe(2) // each costs 200 ms: the claim takes 10 ms, and the rest of the start takes 40 ms
    advance(10_000)
    started(0)
    expect(claimAll('a', 10)).toBe(7)
  })

  it('changes little by one start that takes long', () => {
    const { share, claimAll } = create()
    share.seen('b')
    for (let n = 0; n < 100; n++) share.started(2)
    share.started(100)
    expect(claimAll('a', 1)).toBeGreaterThan(4)
  })

  it('leaves the last slots to tenants that run little', () => {
    const { share, running } = create(16)
    running.set('a', 13).set('b', 1)
    share.seen('a')
    expect(share.leftOut().tenants).toEqual([]) // no other tenant was seen
    share.seen('b')
    expect(share.leftOut()).toEqual({ tenants: ['a'], endsInMs: undefined })
    running.set('a', 12)
    expect(share.leftOut().tenants).toEqual([])
  })

  it('never has the last slot, even if no other tenant was seen, so that the first message of another tenant starts at once', () => {
    const { share, running } = create(16)
    share.seen('a')
    running.set('a', 14)
    expect([share.leftOut().tenants, share.hasToQueue('a')]).toEqual([[], false])
    running.set('a', 15)
    expect([share.leftOut().tenants, share.hasToQueue('a'), share.hasToQueue('b')]).toEqual([['a'], true, false])
  })

  it('has all slots of a worker with few slots', () => {
    const { share, running } = create(7)
    for (const tenant of ['a', 'b']) share.seen(tenant)
    running.set('a', 6)
    expect(share.leftOut().tenants).toEqual([])
  })

  it('has all slots if the conversations belong to no tenant', () => {
    const { share, running } = create(16)
    share.seen('')
    running.set('', 15)
    expect(share.leftOut().tenants).toEqual([])
  })

  it('lets a tenant with many running conversations wait in the work list', () => {
    const { share, running } = create()
    for (const tenant of ['a', 'b']) share.seen(tenant)
    running.set('a', 16).set('b', 15)
    expect([share.hasToQueue('a'), share.hasToQueue('b')]).toEqual([true, false])
  })
})
