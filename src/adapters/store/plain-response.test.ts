import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isPlainResponse } from './plain-response.ts'
import { validateChange } from './shared/validate.ts'

const usage = { uncached: 100, cache_read: 0, cache_write: 12, output: 50, reasoning: 0 }
const prompt = { model: 'm', marks: [1, 4], system: { hash: 1, tools: 2, size: 3 }, tail: { size: 600 }, cache_ttl_seconds: null }
const plainResponse = {
  type: 'response.received',
  turn_id: 't',
  ts: '2026-01-01T00:00:00Z',
  iteration: 0,
  call_id: 'c1',
  raw: '<channel:answer>Hello.</channel:answer>',
  finish_reason: 'stop',
  usage,
  prompt,
}

const texts = ['word', '', '\ud800', '2026-02-01T00:00:00Z', '2026-02-30', 'response.received', 'blocks.appended']
const things = [
  undefined,
  null,
  0,
  -0,
  7,
  1.5,
  2 ** 60,
  Number.NaN,
  true,
  1n,
  [],
  [1],
  [usage],
  [{ usage }],
  new Array(1),
  {},
  usage,
  prompt,
]
const strange = [new Date(0), () => 'word', Symbol('word'), Object.create(usage), Object.create(null), { toJSON: () => usage }, new Map()]
const oddValue = fc.constantFrom<unknown>(...texts, ...things, ...strange)
const descriptor = fc.tuple(oddValue, fc.boolean(), fc.boolean()).map(([value, enumerable, computed]): PropertyDescriptor => {
  return computed ? { get: () => value, enumerable } : { value, enumerable }
})
/** An object like this one, with a field or two that are none of JSON's: given, hidden from whoever lists fields, or told on the spot. */
const like = (whole: object, extra: readonly string[]) =>
  fc
    .dictionary(fc.constantFrom(...Object.keys(whole), ...extra), descriptor, { maxKeys: 2, noNullPrototype: true })
    .map((fields): object => Object.defineProperties({ ...whole }, fields))

const response = fc
  .tuple(
    like(plainResponse, ['role', 'error', 'retried', 'since', 'toJSON', '__proto__']),
    fc.option(like(usage, ['cache_write_long', 'since', 'toJSON']), { nil: undefined }),
    fc.option(like(prompt, ['shown', 'points', 'since', 'toJSON']), { nil: undefined }),
  )
  .map(([odd, oddUsage, oddPrompt]) => {
    if (oddUsage) Object.defineProperty(odd, 'usage', { value: oddUsage, enumerable: true })
    if (oddPrompt) Object.defineProperty(odd, 'prompt', { value: oddPrompt, enumerable: true })
    return odd
  })

it('takes for a response only what every rule lets through as it is', () => {
  let taken = 0
  fc.assert(
    fc.property(response, (change) => {
      if (!isPlainResponse(change)) return
      taken += 1
      expect(validateChange(change)).toBe(change)
    }),
    { numRuns: 5_000 },
  )
  expect(taken).toBeGreaterThan(100)
})

it('takes the response of a round', () => {
  expect(isPlainResponse(plainResponse)).toBe(true)
  expect(isPlainResponse({ ...plainResponse, usage: { ...usage, cache_write_long: 3 } })).toBe(true)
})

it.each([
  ['another change', { type: 'blocks.revealed', ids: [] }],
  ['a field of a later version', { ...plainResponse, since: '9' }],
  ['one that was broken off', { ...plainResponse, error: { error_type: 'overloaded' } }],
  ['one that was asked for in vain before', { ...plainResponse, retried: [{ usage }] }],
  ['one that nobody billed', { ...plainResponse, usage: undefined }],
  ['a bill with a gap', { ...plainResponse, usage: { ...usage, output: undefined } }],
  ['a time that is none', { ...plainResponse, ts: 'today' }],
  ['half a letter in the name of a turn', { ...plainResponse, turn_id: '\ud800' }],
  ['one that says more to whoever knows its fields', Object.defineProperty({ ...plainResponse }, 'retried', { value: 5 })],
])('leaves to the rules: %s', (_what, change) => {
  expect(isPlainResponse(change)).toBe(false)
})
