import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createJsonScanner, jsonLimits, parseJsonBody } from './json.ts'
import { createOverloadGuard } from './overload.ts'
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

it('a turn counts against the quota while it starts and while it runs, and once only', () => {
  const running = new Set<string>()
  const quota = createTurnQuota(
    { turnsPerMinute: 100, runningTurns: 2 },
    () => 0,
    () => running,
    createOverloadGuard({ waitingMessages: 100, messageWaitMs: 100 }, () => 0),
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
