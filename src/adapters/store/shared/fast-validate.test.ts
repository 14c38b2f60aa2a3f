import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Block, bytesOf, isHidden } from '../../../core/block/index.ts'
import { stripHidden } from '../../../core/timeline/frame.ts'
import { isPlainTextAppend } from './fast-validate.ts'
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
