import fc from 'fast-check'
import { expect, it } from 'vitest'
import { blockOrigin, minute, prompt, withIds } from '../../testing/blocks.ts'
import { Failure } from '../failure.ts'
import type { JsonObject } from '../json.ts'
import {
  artifactContentBlock,
  artifactDigestBlock,
  attachmentBlocks,
  type Block,
  type BlockType,
  callIdOf,
  completeBlock,
  completionBlock,
  type Draft,
  digestText,
  noteSegments,
  noteTags,
  noticeBlock,
  parseBlock,
  planBlock,
  readDigest,
  readNotice,
  readPlan,
  readToolCall,
  toolCallBlock,
} from './index.ts'

const blob = { sha256: 'a'.repeat(64), size: 9 }
const only = (drafts: readonly Parameters<typeof withIds>[0][number][]): Block => withIds(drafts)[0] as Block

it('timeline 11.1: fills in time, turn and author of a block that lacks them', () => {
  const block = completeBlock({ type: 'react.note', text: 'x' }, { number: 7, turnId: 't1', now: minute(0) })
  expect(block).toEqual({ id: 'b_7', type: 'react.note', text: 'x', author: 'agent', turn_id: 't1', ts: minute(0) })
})

it('reads epoch seconds, milliseconds and ISO text as time, and stores ISO text with Z', () => {
  const ts = (value: number | string) => completeBlock({ type: 'x', ts: value }, { number: 1, turnId: 't', now: minute(0) }).ts
  expect([ts(1_700_000_000), ts(1_700_000_000_000), ts('2026-01-01T01:00:00+01:00'), ts('nonsense')]).toEqual([
    '2023-11-14T22:13:20.000Z',
    '2023-11-14T22:13:20.000Z',
    '2026-01-01T00:00:00.000Z',
    minute(0),
  ])
})

it('timeline 11.2: keeps call_id, tool_id, payload and a field it does not know', () => {
  const given = { type: 'react.tool.call', call_id: 'c1', tool_id: 'x.y', payload: { whole: true }, x: [1] }
  expect(completeBlock(given, { number: 1, turnId: 't', now: minute(0) })).toMatchObject(given)
  expect(parseBlock({ id: 'b_1', author: 'a', turn_id: 't', ts: minute(0), ...given })).toMatchObject(given)
})

it('timeline 11.8: an xlsx attachment is one metadata block, a PDF is two blocks at one path', () => {
  const xlsx = attachmentBlocks('t1', minute(0), { name: 'a.xlsx', mime: 'application/vnd.ms-excel', size_bytes: 5, blob })
  const pdf = attachmentBlocks('t1', minute(0), { name: 'menu.pdf', mime: 'application/pdf', size_bytes: 9, blob })
  expect(xlsx.map(({ type, meta }) => [type, meta?.keeps])).toEqual([['user.attachment.meta', [blob]]])
  expect(pdf.map(({ type, path }) => [type, path])).toEqual([
    ['user.attachment.meta', 'fi:t1.user.attachments/menu.pdf'],
    ['user.attachment', 'fi:t1.user.attachments/menu.pdf'],
  ])
  expect(pdf[1]?.blob).toEqual(blob)
})

it('a digest never holds a hosting handle', () => {
  const withHandles = { artifact_path: 'fi:t1.files/a.md', hosted_uri: 's3://x', rn: 'ef:1', key: 'k', local_path: '/tmp/a', managed: true }
  expect(JSON.parse(digestText(withHandles))).toEqual({ artifact_path: 'fi:t1.files/a.md' })
  const attached = attachmentBlocks('t1', minute(0), {
    name: 'a.txt',
    mime: 'text/plain',
    size_bytes: 1,
    rn: 'ef:1',
    hosted_uri: 's3://x',
    key: 'k',
  })
  expect(attached[0]?.text).not.toMatch(/hosted_uri|ef:1|s3:/)
  expect(attached[0]?.meta).toMatchObject({ rn: 'ef:1', hosted_uri: 's3://x', key: 'k' })
})

it('tools 18.11: a call block holds tool, id, params and time, and no notes', () => {
  const block = only([toolCallBlock(blockOrigin('c1'), { toolId: 'react.read', params: { paths: ['ar:t1.user.prompt'] } })])
  expect(JSON.parse(block.text ?? '')).toEqual({
    tool_id: 'react.read',
    tool_call_id: 'c1',
    params: { paths: ['ar:t1.user.prompt'] },
    ts: minute(0),
  })
  expect(readToolCall(block)?.tool_id).toBe('react.read')
  expect(block.path).toBe('tc:t1.c1.call')
})

it('a new call block is read like one from the journal, whatever its parameters are and even if the tool modifies them', () => {
  const value = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.jsonValue())
  const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toString', '1', '0'))
  fc.assert(
    fc.property(fc.dictionary(name, value), (params) => {
      const block = toolCallBlock(blockOrigin('c1'), { toolId: 'x.y', params: params as JsonObject }) as Block
      params.more = 1
      expect(readToolCall(block)).toStrictEqual(readToolCall({ ...block }))
    }),
  )
})

it('tools 18.14: every result and content block names its call', () => {
  const digest = { artifact_path: 'fi:t1.files/a.md' }
  const blocks = [
    artifactDigestBlock(blockOrigin('c1'), digest),
    artifactContentBlock(blockOrigin('c1'), { path: 'fi:t1.files/a.md', mime: 'text/markdown', text: 'hi', digest }),
    noticeBlock(blockOrigin('c1'), { code: 'x', message: 'y' }),
  ]
  expect(blocks.map(({ meta }) => meta?.tool_call_id)).toEqual(['c1', 'c1', 'c1'])
  expect(readDigest(only([artifactDigestBlock(blockOrigin('c1'), digest)]))).toMatchObject({
    artifact_path: 'fi:t1.files/a.md',
    tool_call_id: 'c1',
  })
})

it('a misspelt block type does not compile', () => {
  const block = only([prompt('hello')])
  // @ts-expect-error no block has this type
  expect(block.type === 'user.promt').toBe(false)
  // @ts-expect-error no draft has this type
  const draft: Draft = { ...block, type: 'user.promt' }
  expect(draft.type).not.toBe(block.type)
})

it('an unknown type of an imported block stays', () => {
  const imported = { id: 'b_1', type: 'future.kind', author: 'a', turn_id: 't', ts: minute(0) }
  expect(parseBlock(imported)).toBe(imported)
})

it('a reader gives undefined and does not throw for a payload of another shape', () => {
  const blockOf = (type: BlockType, text?: string): Block => ({
    id: 'b_1',
    type,
    author: 'a',
    turn_id: 't',
    ts: minute(0),
    ...(text !== undefined && { text }),
  })
  for (const text of [undefined, '', 'oops', '[]', 'null', '{"code":1}', '{"plan_id":2}']) {
    expect([
      readToolCall(blockOf('react.tool.call', text)),
      readNotice(blockOf('react.notice', text)),
      readPlan(blockOf('react.plan', text)),
      readDigest(blockOf('react.tool.result', text)),
    ]).toEqual([undefined, undefined, undefined, undefined])
  }
})

it('parses a block once, however often it is read', () => {
  const block = only([noticeBlock(blockOrigin('c1'), { code: 'x', message: 'y' })])
  expect(readNotice(block)).toBe(readNotice(block))
})

it('reads a plan in both stored shapes', () => {
  const status = { '1': 'done' as const }
  const withStatusMap = only([planBlock('t1', minute(0), { plan_id: 'plan:t1:ab', steps: ['Search', 'Write'], status })])
  const withStepObjects: Block = {
    ...withStatusMap,
    text: JSON.stringify({
      plan_id: 'plan:t1:ab',
      steps: [
        { n: 2, label: 'Write', status: 'pending' },
        { n: 1, label: 'Search', status: 'done' },
      ],
    }),
  }
  expect(readPlan(withStatusMap)).toEqual({ plan_id: 'plan:t1:ab', steps: ['Search', 'Write'], status })
  expect(readPlan(withStepObjects)).toEqual(readPlan(withStatusMap))
})

it('timeline 11.100: a note is split into tagged segments, and lines without a tag belong to the segment before them', () => {
  expect(noteTags('[D] a\nmore\n[P] b')).toEqual(['D', 'P'])
  expect(noteSegments('[D] a\nmore\n[P] b')).toEqual([
    { tag: 'D', text: 'a\nmore' },
    { tag: 'P', text: 'b' },
  ])
  expect(noteSegments('just words')).toEqual([{ tag: undefined, text: 'just words' }])
})

it('the path without a number is that of the latest completion of the turn', () => {
  const paths = [1, 2].map((index) => completionBlock('t1', minute(0), { text: 'x', index, count: 2 }).path)
  expect(paths).toEqual(['ar:t1.assistant.completion.1', 'ar:t1.assistant.completion'])
})

it('rejects an envelope with a field of the wrong type and names the field', () => {
  const good = { id: 'b_1', type: 'x', author: 'a', turn_id: 't', ts: minute(0) }
  const wrong = [
    null,
    [],
    'x',
    { ...good, id: 4 },
    { ...good, text: 5 },
    { ...good, meta: [] },
    { ...good, blob: { sha256: '../x', size: 1 } },
    { ...good, blob: { sha256: 'a'.repeat(64), size: -1 } },
    { ...good, meta: { tool_call_id: {} } },
    { ...good, meta: { replacement_text: 5 } },
    { ...good, meta: { sources_used: 5 } },
    { ...good, meta: { sources_used: ['1'] } },
  ]
  for (const value of wrong) expect(() => parseBlock(value)).toThrow(Failure)
  expect(() => parseBlock({ ...good, text: 5 })).toThrow('block.text must be a string')
  expect(() => parseBlock({ ...good, meta: { digest: 5 } })).toThrow('block.meta.digest must be a string')
  // other languages write null for a missing value
  const withNulls = { ...good, meta: { tool_call_id: null, sources_used: null, iteration: 'first' } }
  expect(parseBlock(withNulls)).toBe(withNulls)
  expect(callIdOf(parseBlock(withNulls))).toBeUndefined()
})
