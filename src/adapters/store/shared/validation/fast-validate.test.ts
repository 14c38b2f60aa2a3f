import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Block, blobRefsOf, isHidden } from '../../../../core/block/index.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import { stripHidden } from '../../../../core/timeline/frame.ts'
import { isPlainResponse, isPlainTextAppend, plainBlockNumbers } from './fast-validate.ts'
import { involvesBlobs, newBlockNumbers, validateChange } from './validate.ts'

const blob = { sha256: 'a'.repeat(64), size: 1 }
const plainBlock = { id: 'b_1', type: 'user.prompt', author: 'user', turn_id: 't', ts: '2026-01-01T00:00:00Z', text: 'Hello.' }
const appended = (...blocks: readonly unknown[]) => ({ type: 'blocks.appended', blocks })

const fields = ['id', 'type', 'author', 'turn_id', 'ts', 'mime', 'path', 'text', 'base64', 'call_id', 'tool_id', 'payload', 'blob', 'meta']
const metaFields = ['tool_call_id', 'iteration', 'digest', 'keeps', 'sources_used', 'hidden', 'replacement_text', 'hidden_reason', 'other']
const texts = ['b_7', 'b_07', 'b_', '2026-02-01T00:00:00Z', '2026-02-01']
const others = [undefined, null, 'word', '', 0, -0, Number.NaN, 1.5, true, [], [1], {}, blob, [blob], new Date(0)]
const oddValue = fc.constantFrom<unknown>(...texts, ...others)
const oddMeta = fc.oneof(oddValue, fc.dictionary(fc.constantFrom(...metaFields), oddValue, { maxKeys: 3, noNullPrototype: true }))
const oddBlock = fc
  .tuple(fc.dictionary(fc.constantFrom(...fields), oddValue, { maxKeys: 2, noNullPrototype: true }), fc.option(oddMeta, { nil: undefined }))
  .map(([odd, meta]) => ({ ...plainBlock, ...odd, ...(meta !== undefined && { meta }) }))

it('accepts only appends that the full validation returns unchanged', () => {
  let accepted = 0
  fc.assert(
    fc.property(oddBlock, (block) => {
      const change = appended(plainBlock, block)
      if (!isPlainTextAppend(change)) return
      accepted += 1
      expect(validateChange(change)).toBe(change)
      const [, entered] = change.blocks as readonly [Block, Block]
      expect(blobRefsOf(entered)).toEqual([])
      expect(entered.base64).toBeUndefined()
      expect(isHidden(entered)).toBe(false)
      expect(stripHidden(entered)).toBe(entered)
    }),
    { numRuns: 3_000 },
  )
  expect(accepted).toBeGreaterThan(100)
})

it('gives block numbers only for appends that the full validation returns unchanged and that refer to no blobs', () => {
  const counts = { plain: 0, others: 0 }
  fc.assert(
    fc.property(oddBlock, oddResponse, fc.boolean(), (block, response, hasOdd) => {
      const given = [
        hasOdd ? response : plainResponse,
        appended({ ...block, id: hasOdd ? block.id : 'b_7' }),
      ] as unknown as readonly Change[]
      const numbers = plainBlockNumbers(given)
      counts[numbers ? 'plain' : 'others'] += 1
      if (!numbers) return
      for (const change of given) expect(validateChange(change)).toBe(change)
      expect(involvesBlobs(given)).toBe(false)
      expect(numbers).toEqual(newBlockNumbers(given, () => undefined))
    }),
    { numRuns: 3_000 },
  )
  expect(Math.min(counts.plain, counts.others)).toBeGreaterThan(100)
})

it('gives no numbers for blocks whose numbers do not ascend', () => {
  const given = [appended({ ...plainBlock, id: 'b_2' }, { ...plainBlock, id: 'b_1' })] as unknown as readonly Change[]
  expect(plainBlockNumbers(given)).toBeUndefined()
})

it('accepts text blocks with and without a tool call in their meta', () => {
  const ofCall = { ...plainBlock, id: 'b_2', meta: { tool_call_id: 'c1', iteration: 0 } }
  expect(isPlainTextAppend(appended(plainBlock, ofCall))).toBe(true)
})

it.each([
  ['another type of change', { type: 'blocks.revealed', ids: [] }],
  ['an unknown field', { ...appended(plainBlock), since: '9' }],
  ['a block id with a leading zero', appended({ ...plainBlock, id: 'b_01' })],
  ['a time that is not ISO 8601', appended({ ...plainBlock, ts: 'today' })],
  ['a block without an author', appended({ ...plainBlock, author: undefined })],
  ['a block with a prototype', appended(Object.assign(Object.create({ base64: 'AA==' }), plainBlock))],
  ['a hole in the list', { type: 'blocks.appended', blocks: new Array(1) }],
])('leaves to the full validation: %s', (_name, change) => {
  expect(isPlainTextAppend(change)).toBe(false)
})

const plainResponse = {
  type: 'response.received',
  turn_id: 't',
  ts: '2026-01-01T00:00:00Z',
  iteration: 0,
  call_id: 'c1',
  raw: '<channel:answer>Hello.</channel:answer>',
  finish_reason: 'stop',
  usage: { uncached: 1, cache_read: 0, cache_write: 0, output: 2, reasoning: 0 },
  prompt: { model: 'm', marks: [0], shown: { from: 0, hashes: [1, 2], chain: 3 } },
}
const responseFields = [...Object.keys(plainResponse), 'role', 'dialect', 'error', 'retried', 'wrap_up', 'request_hash', 'other']
const usageFields = [...Object.keys(plainResponse.usage), 'cache_write_long', 'other']
const oddResponse = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...responseFields), oddValue, { maxKeys: 1, noNullPrototype: true }),
    fc.dictionary(fc.constantFrom(...usageFields), oddValue, { maxKeys: 1, noNullPrototype: true }),
    fc.dictionary(fc.constantFrom('marks', 'shown', 'other'), oddValue, { maxKeys: 1, noNullPrototype: true }),
  )
  .map(([odd, usage, prompt]) => ({
    ...plainResponse,
    usage: { ...plainResponse.usage, ...usage },
    prompt: { ...plainResponse.prompt, ...prompt },
    ...odd,
  }))

it('accepts only responses that the full validation returns unchanged', () => {
  let accepted = 0
  fc.assert(
    fc.property(oddResponse, (change) => {
      if (!isPlainResponse(change)) return
      accepted += 1
      expect(validateChange(change)).toBe(change)
    }),
    { numRuns: 3_000 },
  )
  expect(accepted).toBeGreaterThan(100)
})

it.each([
  ['another type of change', { ...plainResponse, type: 'title.set' }],
  ['an optional field', { ...plainResponse, role: 'gate' }],
  ['a response without usage', { ...plainResponse, usage: undefined }],
  ['a time that is not ISO 8601', { ...plainResponse, ts: 'today' }],
  ['a turn whose id is not well-formed text', { ...plainResponse, turn_id: '\ud800' }],
  ['an iteration of -0, which JSON can not hold', { ...plainResponse, iteration: -0 }],
  ['a prompt that JSON can not hold', { ...plainResponse, prompt: { marks: [Number.NaN] } }],
])('leaves a response to the full validation: %s', (_name, change) => {
  expect(isPlainResponse(change)).toBe(false)
})
