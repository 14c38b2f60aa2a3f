import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Block, bytesOf, isHidden } from '../../../core/block/index.ts'
import { stripHidden } from '../../../core/timeline/frame.ts'
import { isPlainResponse, isPlainTextAppend } from './fast-validate.ts'
import { validateChange } from './validate.ts'

const blob = { sha256: 'a'.repeat(64), size: 1 }
const plainBlock = { id: 'b_1', type: 'user.prompt', author: 'user', turn_id: 't', ts: '2026-01-01T00:00:00Z', text: 'Hello.' }
const appended = (...blocks: readonly unknown[]) => ({ type: 'blocks.appended', blocks })
const place = { tool_call_id: 'c1', iteration: 0 }

const fields = ['id', 'type', 'author', 'turn_id', 'ts', 'mime', 'path', 'text', 'base64', 'call_id', 'tool_id', 'payload', 'blob', 'meta']
const metaFields = ['tool_call_id', 'iteration', 'digest', 'keeps', 'sources_used', 'hidden', 'replacement_text', 'hidden_reason', 'other']
const names = ['b_7', 'b_07', 'b_', '2026-02-01T00:00:00Z', '2026-02-01']
const blockValues = [undefined, null, 'word', '', 0, -0, Number.NaN, 1.5, true, [], [1], {}, blob, [blob], new Date(0)]
const oddBlockValue = fc.constantFrom<unknown>(...names, ...blockValues)
const meta = fc.oneof(oddBlockValue, fc.dictionary(fc.constantFrom(...metaFields), oddBlockValue, { maxKeys: 3, noNullPrototype: true }))
const oddBlock = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...fields), oddBlockValue, { maxKeys: 2, noNullPrototype: true }),
    fc.option(meta, { nil: undefined }),
  )
  .map(([odd, meta]) => ({ ...plainBlock, ...odd, ...(meta !== undefined && { meta }) }))

it('takes for words only what every rule lets through as it is', () => {
  let taken = 0
  fc.assert(
    fc.property(oddBlock, (block) => {
      const change = appended(plainBlock, block)
      if (!isPlainTextAppend(change)) return
      taken += 1
      expect(validateChange(change)).toBe(change)
      const [, entered] = change.blocks as readonly [Block, Block]
      expect(bytesOf(entered)).toEqual([])
      expect(entered.base64).toBeUndefined()
      expect(isHidden(entered)).toBe(false)
      expect(stripHidden(entered)).toBe(entered)
    }),
    { numRuns: 3_000 },
  )
  expect(taken).toBeGreaterThan(100)
})

it('takes a round of words, with and without a place', () => {
  expect(isPlainTextAppend(appended(plainBlock, { ...plainBlock, id: 'b_2', meta: place }))).toBe(true)
})

it.each([
  ['another change', { type: 'blocks.revealed', ids: [] }],
  ['a field of a later version', { ...appended(plainBlock), since: '9' }],
  ['a block that is not numbered', appended({ ...plainBlock, id: 'b_01' })],
  ['a block of a time that is none', appended({ ...plainBlock, ts: 'today' })],
  ['a block that lacks its author', appended({ ...plainBlock, author: undefined })],
  ['a block of its own making', appended(Object.assign(Object.create({ base64: 'AA==' }), plainBlock))],
  ['a hole', { type: 'blocks.appended', blocks: new Array(1) }],
])('leaves to the rules: %s', (_what, change) => {
  expect(isPlainTextAppend(change)).toBe(false)
})

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
