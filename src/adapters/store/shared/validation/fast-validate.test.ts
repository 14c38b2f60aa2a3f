import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Block, blobRefsOf, isHidden } from '../../../../core/block/index.ts'
import { stripHidden } from '../../../../core/timeline/frame.ts'
import { isPlainTextAppend } from './fast-validate.ts'
import { validateChange } from './validate.ts'

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
