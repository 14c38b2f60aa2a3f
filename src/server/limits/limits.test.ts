import fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonDepth } from './body.ts'
import { createTokenBucket, createTurnQuota } from './quotas.ts'

it('lets a few through at once, then so many a minute, for each name on its own', () => {
  const bucket = createTokenBucket({ atOnce: 2, perMinute: 60 })
  expect([0, 0, 0].map((ms) => bucket.take('a', ms))).toEqual([0, 0, 1])
  expect(bucket.take('b', 0)).toBe(0)
  expect(bucket.take('a', 999)).toBe(1)
  expect(bucket.take('a', 1_000)).toBe(0)
  expect(bucket.take('a', 500)).toBeGreaterThan(0) // a clock that goes back gives nothing
})

it('forgets who has been quiet, and only those', () => {
  const bucket = createTokenBucket({ atOnce: 2, perMinute: 60 })
  for (let index = 0; index < 100; index++) bucket.take(`n${index}`, index)
  expect(bucket.size).toBe(100)
  bucket.take('late', 2_050)
  expect(bucket.size).toBe(50)
})

it('measures how deep JSON nests, as a parser would', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => void expect(jsonDepth(JSON.stringify(value))).toBe(depthOf(value))))
  expect(jsonDepth('['.repeat(1_000))).toBe(1_000)
  expect(jsonDepth('"\\"[[["')).toBe(0)
})

it('counts a turn as running for as long as somebody is at work on it, and not longer', () => {
  const running = new Set<string>()
  const gate = createTurnQuota(
    { turnsPerMinute: 100, runningTurns: 2 },
    () => 0,
    () => running,
  )
  const leaveFirst = gate.acquire('a')
  const leaveSecond = gate.acquire('b')
  expect(() => gate.acquire('c')).toThrow('Too many turns are running')
  expect(() => gate.acquire('t/p/u/c')).not.toThrow() // somebody else
  running.add('a') // it began: whoever is entering and running at once is one
  gate.acquire('b')() // said to a turn of one's own
  leaveFirst()
  leaveSecond()
  expect(() => gate.acquire('c')).not.toThrow()
})
