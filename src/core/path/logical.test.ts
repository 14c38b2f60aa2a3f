import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conversationKey } from '../scope.ts'
import { canonicalPath, dropOwnConversation, formatPath, type LogicalPath, maximumPathLength, parsePath } from './logical.ts'

describe('parsing and formatting', () => {
  it.each<[string, LogicalPath]>([
    ['ar:t1.user.prompt', { space: 'ar', kind: 'record', turn: 't1', record: 'user.prompt' }],
    ['ar:t1.assistant.completion.2', { space: 'ar', kind: 'record', turn: 't1', record: 'assistant.completion.2' }],
    ['ar:t1.react.plan.plan:t1:ab12cd34', { space: 'ar', kind: 'record', turn: 't1', record: 'react.plan.plan:t1:ab12cd34' }],
    ['ar:t1.react.plan.v1.2-draft', { space: 'ar', kind: 'record', turn: 't1', record: 'react.plan.v1.2-draft' }],
    ['ar:plan.latest:plan:t1:ab12cd34', { space: 'ar', kind: 'latest-plan', planId: 'plan:t1:ab12cd34' }],
    ['ar:conv_c9.plan.latest:p', { space: 'ar', kind: 'latest-plan', planId: 'p', conversationId: 'c9' }],
    ['tc:t1.tc_0a.result', { space: 'tc', turn: 't1', call: 'tc_0a', record: 'result' }],
    ['tc:t1.tool_calls.result', { space: 'tc', turn: 't1', call: 'tool_calls', record: 'result' }],
    ['fi:t1.files/a/b.files/c', { space: 'fi', kind: 'file', turn: 't1', area: 'files', rel: 'a/b.files/c' }],
    ['fi:t1.outputs/report.pdf', { space: 'fi', kind: 'file', turn: 't1', area: 'outputs', rel: 'report.pdf' }],
    ['fi:t1.user.attachments/x y.png', { space: 'fi', kind: 'file', turn: 't1', area: 'attachments', rel: 'x y.png' }],
    ['fi:conv_c9.t1.files/a', { space: 'fi', kind: 'file', turn: 't1', area: 'files', rel: 'a', conversationId: 'c9' }],
    ['fi:t1.files/', { space: 'fi', kind: 'folder', turn: 't1', area: 'files', rel: '' }],
    ['fi:t1.files/app/src/', { space: 'fi', kind: 'folder', turn: 't1', area: 'files', rel: 'app/src' }],
    ['so:sources_pool[3, 5-6]', { space: 'so', sids: [3, 5, 6] }],
    ['so:sources_pool[]', { space: 'so', sids: [] }],
    ['su:t1.conv.range.summary', { space: 'su', kind: 'record', turn: 't1', record: 'conv.range.summary' }],
    ['ws:t1.conv.working.summary.attempt.1', { space: 'ws', kind: 'record', turn: 't1', record: 'conv.working.summary.attempt.1' }],
    ['ks:guides/setup.md', { space: 'ks', rel: 'guides/setup.md' }],
    ['sk:internal.pdf.forms', { space: 'sk', kind: 'named', namespace: 'internal', id: 'pdf.forms' }],
    ['sk:SK3', { space: 'sk', kind: 'listed', number: 3 }],
    ['sk:hidden-guidance-0123456789', { space: 'sk', kind: 'hidden', key: '0123456789' }],
  ])('%s is parsed and formatted back', (text, path) => {
    expect(parsePath(text)).toEqual(path)
    expect(formatPath(path)).toBe(text)
  })

  it.each([
    ['tc:turn_c.tool_calls.k.in.json', 'tc:turn_c.k.call'],
    ['tc:turn_c.tool_calls.k.out.json', 'tc:turn_c.k.result'],
    ['tc:turn_c.tool_calls.k.notice.json', 'tc:turn_c.k.notice'],
    ['conv:tc:conv_a-b.turn_c.tool_calls.k.out.json', 'tc:conv_a-b.turn_c.k.result'],
  ])('tools 18.10: %s resolves to the same address as %s', (alias, canonical) => {
    expect(canonicalPath(alias)).toBe(canonical)
  })

  it.each([
    ['conv:ar:t1.user.prompt', 'ar:t1.user.prompt'],
    ['conv:so:sources_pool[1]', 'so:sources_pool[1]'],
    ['fi:t1.code.c1', 'tc:t1.c1.code'],
    ['fi:t1.files', 'fi:t1.files/'],
    ['fi:t1.user.attachments/re\u0301sume\u0301.pdf', 'fi:t1.user.attachments/r\u00e9sum\u00e9.pdf'],
    ['so:sources_pool[6:5,3 , 3]', 'so:sources_pool[3, 5-6]'],
    ['sk:pdf', 'sk:public.pdf'],
    ['sk:3', 'sk:SK3'],
    ['sk:sk03', 'sk:SK3'],
    ['skill:public.pdf', 'sk:public.pdf'],
    ['skills.public.pdf', 'sk:public.pdf'],
    ['skills.pdf', 'sk:public.pdf'],
  ])('the alias %s is %s', (alias, canonical) => {
    expect(canonicalPath(alias)).toBe(canonical)
  })

  it("parses the older form of a call's program as code, not as a file", () => {
    expect(parsePath('fi:t1.code.c1')).toEqual({ space: 'fi', kind: 'code', turn: 't1', call: 'c1' })
  })

  it('timeline 11.4: accepts a reversed range, and skips tokens that are not numbers', () => {
    expect(parsePath('so:sources_pool[5-3]')).toEqual({ space: 'so', sids: [3, 4, 5] })
    expect(parsePath('so:sources_pool[1, 3,x,7]')).toEqual({ space: 'so', sids: [1, 3, 7] })
  })

  it('marks a selector that names more rows than allowed', () => {
    expect(parsePath('so:sources_pool[1-1000000000]')).toMatchObject({ truncated: true })
  })
})

describe('texts that are not paths', () => {
  it.each([
    ...[
      '',
      ':',
      'ar',
      'ar:',
      'ar:t1',
      'ar:t1.',
      'ar:.user.prompt',
      'ar:t1..x',
      'ar:t1.x.',
      'ar:t 1.user.prompt',
      'ar:t1.user prompt',
      'ar:t1.x\ny',
    ],
    ...[
      'ar:t/1.user.prompt',
      'AR:t1.user.prompt',
      ' ar:t1.user.prompt',
      'ar:plan.latest:',
      'ar:conv_.t1.x',
      'ar:conv_c.t1',
      'ar:t1.a\u202eb',
    ],
    ...['tc:t1.c1', 'tc:t1.c1.', 'tc:t1.c1.other', 'tc:t1.c1.call.x', 'tc:t1.tool_calls.c1.in', 'tc:t1.tool_calls.c1.json', 'tc:.c1.call'],
    ...['fi:t1.filesx/a', 'fi:t1.secret/a', 'fi:t1/files/a', 'fi:t1.files/../x', 'fi:t1.files//etc', 'fi:t1.files/a\\b', 'fi:t1.files/a:b'],
    ...[
      'fi:t1.files/a\0b',
      'fi:t1.files/.git/config',
      'fi:t1.files/app//',
      'fi:t1.code.',
      'fi:t1.code.a.b',
      'fi:t1.files/%2e%2e/x',
      'fi:.files/a',
    ],
    ...['so:sources_pool', 'so:sources_pool[1', 'so:pool[1]', 'so:sources_pool[1]x', 'ks:', 'ks:/etc/passwd', 'ks:a/../../b', 'ks:a\0'],
    ...[
      'sk:',
      'sk:.x',
      'sk:a..b',
      'sk:a/b',
      'skills.',
      'conv:',
      'conv:conv:ar:t1.x',
      'conv:sources_pool',
      'constructor:x',
      '__proto__:x',
      'ev:t1.x',
    ],
  ])('%j', (text) => {
    expect(parsePath(text)).toBeUndefined()
    expect(canonicalPath(text)).toBeUndefined()
  })

  it('a physical path is not a logical path', () => {
    expect(parsePath('turn_1/files/a.md')).toBeUndefined()
  })
})

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
describe('a path with the id of its own conversation', () => {
  it.each([
    ['fi:conv_c1.t1.files/a.md', 'fi:t1.files/a.md'],
    ['conv:fi:conv_c1.t1.files/a.md', 'fi:t1.files/a.md'],
    ['ar:conv_c1.plan.latest:p', 'ar:plan.latest:p'],
    ['so:conv_c1.sources_pool[1]', 'so:sources_pool[1]'],
    ['fi:conv_c1x.t1.files/a.md', 'fi:conv_c1x.t1.files/a.md'], // `conv_c1x` is another conversation
    ['fi:conv_c2.t1.files/conv_c1.md', 'fi:conv_c2.t1.files/conv_c1.md'],
    ['ks:conv_c1.x', 'ks:conv_c1.x'], // a `ks:` path belongs to no conversation
    ['conv_c1.t1.files/a.md', 'conv_c1.t1.files/a.md'],
    ['fi:t1.files/a.md', 'fi:t1.files/a.md'],
  ])('%s becomes %s', (given, expected) => {
    expect(dropOwnConversation(given, 'c1')).toBe(expected)
  })

  it('is recognised whatever characters the id has', () => {
    expect(dropOwnConversation('fi:conv_a.b (c).t1.files/a.md', 'a.b (c)')).toBe('fi:t1.files/a.md')
  })

  it('is recognised by the name that the conversation has in its scope', () => {
    const key = conversationKey({ tenant: 'acme', project: 'p', user: 'u' }, 'talk')
    expect(dropOwnConversation('fi:conv_talk.t1.files/a.md', key)).toBe('fi:t1.files/a.md')
  })
})

const turn = id.filter((text) => !text.startsWith('conv_'))
const conversation = fc.option(id, { nil: undefined }).map((given) => (given === undefined ? {} : { conversationId: given }))
const record = fc.oneof(
  fc.constantFrom('user.prompt', 'assistant.completion', 'react.turn.index', 'feedback.latest'),
  fc.stringMatching(/^[^\s.]{1,8}(\.[^\s.]{1,8}){0,3}$/),
)
const visible = record.filter((text) => !/[\p{Cc}\p{Cf}\p{Cs}]/u.test(text))
const segment = fc.oneof(
  fc.constantFrom('a.md', '.files', 'files', '...', 'user.attachments', '\u00e9t\u00e9 2.txt', '100%', 'conv_x.y'),
  fc.stringMatching(/^[A-Za-z0-9 _\u4e00-\u4eff()-][A-Za-z0-9 ._\u4e00-\u4eff()-]{0,8}$/),
)
const rel = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'))
const area = fc.constantFrom('files' as const, 'outputs' as const, 'attachments' as const)
const sids = fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { maxLength: 40 }).map((given) => given.toSorted((a, b) => a - b))

const path: fc.Arbitrary<LogicalPath> = fc
  .tuple(
    fc.oneof(
      fc.record({
        space: fc.constantFrom('ar' as const, 'su' as const, 'ws' as const),
        kind: fc.constant('record' as const),
        turn,
        record: visible,
      }),
      fc.record({ space: fc.constant('ar' as const), kind: fc.constant('latest-plan' as const), planId: visible }),
      fc.record({ space: fc.constant('tc' as const), turn, call: id, record: fc.constantFrom('call', 'result', 'notice', 'code') }),
      fc.record({ space: fc.constant('fi' as const), kind: fc.constantFrom('file' as const, 'folder' as const), turn, area, rel }),
      fc.record({ space: fc.constant('so' as const), sids }),
    ),
    conversation,
  )
  .map(([body, where]): LogicalPath => ({ ...body, ...where }))
  .filter((made) => !(made.space === 'ar' && made.kind === 'record' && made.turn === 'plan' && made.record.startsWith('latest:')))

const anyPath = fc.oneof(
  path,
  rel.map((given): LogicalPath => ({ space: 'ks', rel: given })),
  fc.record({ space: fc.constant('sk' as const), kind: fc.constant('named' as const), namespace: id, id }),
  fc.integer({ min: 1, max: 999_999_999 }).map((number): LogicalPath => ({ space: 'sk', kind: 'listed', number })),
)

it('parsing and formatting are inverse', () => {
  fc.assert(
    fc.property(anyPath, (made) => {
      const text = formatPath(made)
      expect(parsePath(text)).toEqual(made)
      expect(canonicalPath(text)).toBe(text)
      expect(canonicalPath(`conv:${text}`)).toBe(text)
    }),
    { numRuns: 2000 },
  )
})

it('parses any text without throwing, and a canonical form stays the same', () => {
  let parsed = 0
  const piece = fc.constantFrom(
    'ar:',
    'fi:',
    'tc:',
    'so:',
    'sk:',
    'ks:',
    'conv:',
    'conv_',
    'plan.latest:',
    '.',
    '/',
    '.files/',
    'code.',
    'sources_pool[',
    ']',
    '1-',
    '..',
  )
  const random = fc
    .array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 3 }), id), { maxLength: 10 })
    .map((pieces) => pieces.join(''))
  const mutated = fc.tuple(anyPath, fc.nat(), piece).map(([made, position, inserted]) => {
    const whole = formatPath(made)
    const at = position % whole.length
    return whole.slice(0, at) + inserted + whole.slice(at)
  })
  fc.assert(
    fc.property(fc.oneof(random, mutated), (given) => {
      const canonical = canonicalPath(given)
      if (canonical === undefined) return
      parsed++
      expect(canonicalPath(canonical)).toBe(canonical)
    }),
    { numRuns: 1000 },
  )
  expect(parsed).toBeGreaterThan(50)
})

it('rejects 10 MB of anything without parsing it, and parses the longest path in linear time', () => {
  const pieces = ['a', '.', 'a.', '/', ',', '1-9999,', '\u0301', 'conv:', 'tool_calls.', '\ud83d']
  for (const start of ['', 'ar:t1.', 'fi:t1.files/', 'tc:t1.tool_calls.', 'so:sources_pool[', 'sk:', 'ks:', 'conv:']) {
    for (const piece of pieces) {
      expect(parsePath(start + piece.repeat(10_000_000 / piece.length))).toBeUndefined()
      expect(() => parsePath((start + piece.repeat(maximumPathLength)).slice(0, maximumPathLength))).not.toThrow()
    }
  }
})
