import fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonDepth } from './body.ts'
import { createTokenBucket, createTurnQuota } from './quotas.ts'

it('the bucket allows a burst, then a rate per minute, for each name separately', () => {
  const bucket = createTokenBucket({ burst: 2, perMinute: 60 })
  expect([0, 0, 0].map((ms) => bucket.take('a', ms))).toEqual([0, 0, 1])
  expect(bucket.take('b', 0)).toBe(0)
  expect(bucket.take('a', 999)).toBe(1)
  expect(bucket.take('a', 1_000)).toBe(0)
  expect(bucket.take('a', 500)).toBeGreaterThan(0) // a clock that is set back adds no tokens
})

it('the bucket forgets names whose tokens are full again, and only those', () => {
  const bucket = createTokenBucket({ burst: 2, perMinute: 60 })
  for (let index = 0; index < 100; index++) bucket.take(`n${index}`, index)
  expect(bucket.size).toBe(100)
  bucket.take('late', 2_050)
  expect(bucket.size).toBe(50)
})

it('jsonDepth counts the nesting that a parser would see', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => void expect(jsonDepth(JSON.stringify(value))).toBe(depthOf(value))))
  expect(jsonDepth('['.repeat(1_000))).toBe(1_000)
  expect(jsonDepth('"\\"[[["')).toBe(0)
})

it('a turn counts against the quota while it starts and while it runs, and once only', () => {
  const running = new Set<string>()
  const quota = createTurnQuota(
    { turnsPerMinute: 100, runningTurns: 2 },
    () => 0,
    () => running,
  )
  const releaseFirst = quota.acquire('a')
  const releaseSecond = quota.acquire('b')
  expect(() => quota.acquire('c')).toThrow('Too many turns are running')
  expect(() => quota.acquire('t/p/u/c')).not.toThrow() // another user
  running.add('a') // the same conversation is starting and running, and counts once
  quota.acquire('b')() // a followup to a turn that is starting
  releaseFirst()
  releaseSecond()
  expect(() => quota.acquire('c')).not.toThrow()
})
