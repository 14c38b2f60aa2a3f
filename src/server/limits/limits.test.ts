import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createJsonScanner, jsonLimits, parseJsonBody } from './json.ts'
import { createOverloadGuard } from './overload.ts'
import { createTurnQuota } from './quotas.ts'
import { createRateLimit, type RateState, rateHeaders } from './rate-limit.ts'
import { createTurnCounter } from './running-turns.ts'
import { createSharedBuckets } from './shared-buckets.ts'

it('a limit allows a burst, then a rate per minute, for each user separately, and says what is left', () => {
  const limit = createRateLimit({ name: 'requests', perMinute: 60 })
  const take = (user: string, ms: number) => limit.take(user, ms) as RateState
  expect(take('a', 0)).toEqual({ name: 'requests', perMinute: 60, retrySeconds: 0, left: 59, fullSeconds: 1 })
  for (let n = 1; n < 60; n++) take('a', 0)
  expect(take('a', 0)).toMatchObject({ retrySeconds: 1, left: 0, fullSeconds: 60 })
  expect(take('b', 0)).toMatchObject({ retrySeconds: 0, left: 59 })
  expect(take('a', 999)).toMatchObject({ retrySeconds: 1 })
  expect(take('a', 1_000)).toMatchObject({ retrySeconds: 0, left: 0 })
  expect(take('a', 500).retrySeconds).toBeGreaterThan(0) // a clock that is set back adds no tokens
  expect(rateHeaders(take('b', 0))).toEqual({ ratelimit: '"requests";r=59;t=1', 'ratelimit-policy': '"requests";q=60;w=60' })
})

it.each([
  [0, [3_600, 3_600]],
  [0.5, [0, 120]],
  [1, [0, 60]],
  [1e9, [0, 0]],
])('a limit of %d per minute has sensible times', (perMinute, seconds) => {
  const limit = createRateLimit({ name: 'turns', perMinute })
  const states = [0, 0].map((ms) => limit.take('a', ms) as RateState)
  expect(states.map(({ retrySeconds }) => retrySeconds)).toEqual(seconds)
  for (const { left, fullSeconds } of states) expect([left, fullSeconds].every(Number.isSafeInteger)).toBe(true)
})

it('a limit forgets users who have the whole limit again, and only those', () => {
  const limit = createRateLimit({ name: 'requests', perMinute: 60 })
  for (let index = 0; index < 100; index++) limit.take(`n${index}`, index)
  expect(limit.size).toBe(100)
  limit.take('late', 1_050)
  expect(limit.size).toBe(50)
})

it('the scanner counts the nesting and the values that a parser would see, however the text is cut into slices', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
  const valuesOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? Object.values(value).reduce((sum, item) => sum + valuesOf(item), 1) : 1
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), fc.nat(40), (value, size) => {
      const bytes = Buffer.from(JSON.stringify(value))
      const scanner = createJsonScanner(jsonLimits)
      for (let at = 0; at < bytes.length; at += size + 1) scanner.scan(bytes.subarray(at, at + size + 1))
      expect(scanner.deepest).toBe(depthOf(value))
      // an empty list or object counts as if it had one value
      expect(scanner.values).toBeGreaterThanOrEqual(valuesOf(value))
      expect(scanner.values).toBeLessThanOrEqual(2 * valuesOf(value))
    }),
  )
})

it.each([
  ['nested deeper than 3', '[[[[', 400],
  ['more than 6 values', '[1,2,3,4,5,6]', 413],
  ['more than 6 values', '[{},{},{},{}]', 413],
  ['more than 4 keys', '{"a":1,"b":2,"c":3,"d":4,"e":5}', 413],
])('a body beyond a limit is rejected before it is parsed: %s', async (reason, text, status) => {
  const rejected = await parseJsonBody(Buffer.from(text), { depth: 3, values: 6, keys: 4 }).catch((error: unknown) => error)
  expect(rejected).toMatchObject({ status })
  expect(JSON.stringify([(rejected as Error).message, rejected])).toContain(reason)
})

it('brackets, commas and quotes inside a text count nothing', async () => {
  const value = ['\\"[[[,,,{{{', '\\\\', 'é,"']
  expect(await parseJsonBody(Buffer.from(JSON.stringify(value)), { depth: 1, values: 4, keys: 1 })).toEqual(value)
})

it('a turn counts against the quota while it starts and while it runs, and once only', async () => {
  const running = new Set<string>()
  const quota = createTurnQuota({
    runningTurns: 2,
    starts: createRateLimit({ name: 'turns', perMinute: 100 }),
    nowMs: () => 0,
    running: () => running,
    overload: createOverloadGuard({ waitingMessages: 100, messageWaitMs: 100 }, { nowMs: () => 0, slowCommits: () => 0 }),
  })
  const first = await quota.acquire('a')
  const second = await quota.acquire('b')
  await expect(quota.acquire('c')).rejects.toThrow('Too many turns are running')
  await quota.acquire('t/p/u/c') // another user
  running.add('a') // the same conversation is starting and running, but counts only once
  ;(await quota.acquire('b')).release() // a followup to a turn that is starting
  first.release()
  second.release()
  await quota.acquire('c')
})

it('of turns that start at the same time, no more than the quota allows get a place', async () => {
  const quota = createTurnQuota({
    runningTurns: 3,
    starts: createRateLimit({ name: 'turns', perMinute: 100 }),
    nowMs: () => 0,
    running: () => [],
    overload: createOverloadGuard({ waitingMessages: 100, messageWaitMs: 100 }, { nowMs: () => 0, slowCommits: () => 0 }),
    countElsewhere: async () => 0,
  })
  const results = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => quota.acquire(`c${n}`)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
})

it('a message to a conversation whose turn the store has counted does not count as another turn', async () => {
  const stored = ['a', 'b', 'c']
  const limits = {
    countTurns: async () => new Map([['', stored.length]]),
    turnsOf: async (_: string, atMost: number) => stored.slice(0, atMost),
  }
  const countOthers = createTurnCounter(limits, 5, () => expect.unreachable())
  const mayPass = async (key: string) => ((await countOthers(key)) ?? 0) < 5
  for (const key of ['a', 'b', 'c', 'a', 'd', 'e', 'd', 'b']) expect(await mayPass(key), key).toBe(true)
  expect(await mayPass('f')).toBe(false)
})

it('a user whose last use could not be reported is forgotten a minute after the bucket is full', async () => {
  const buckets = createSharedBuckets({ take: () => Promise.reject(new Error('the store is away')) }, () => {})
  const limit = createRateLimit({ name: 'requests', perMinute: 60 }, buckets)
  for (let n = 0; n < 50; n++) await limit.take(`u${n}`, 0)
  await new Promise((resolve) => setTimeout(resolve, 150)) // by now, the report has failed
  await limit.take('later', 2_000)
  expect(limit.size).toBe(51) // the next report of the user includes this use
  await limit.take('later', 120_000)
  expect(limit.size).toBe(1)
})
