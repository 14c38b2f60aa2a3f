import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { builtInTools } from '../../src/agent/tools.ts'
import type { Block } from '../../src/core/block/index.ts'
import { isObject, parseJson } from '../../src/core/json.ts'
import { blocksOfChange } from '../../src/core/timeline/change.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { succeeded } from '../../src/tools/outcome.ts'
import type { Tool } from '../../src/tools/tool.ts'

const unlimited = { maxRounds: 100_000, contextTokens: 1_000_000_000 }

/** Invalid and hostile values for paths, texts, numbers and lists. */
const paths = fc.constantFrom(
  ...['', ' ', '.', '..', '/', '/etc/passwd', '../../x', 'files/a.md', 'files/a.md/', 'files/', 'files', 'outputs/b.json', 'a\0b', 'C:\\x'],
  ...[
    'fi:',
    'fi:t.files/a',
    'fi:turn_1.files/a.md',
    'fi:turn_1.files',
    'fi:turn_1.outputs/',
    'fi:turn_1.user.attachments/x',
    'fi:..files/x',
  ],
  ...['fi:conv_other.turn_1.files/a.md', 'conv:fi:turn_1.files/a.md', 'conv:conv:fi:x', 'ar:turn_1.user.prompt', 'ar:plan.latest:', 'ar:.'],
  ...['ar:turn_1.react.turn.index', 'tc:turn_1.k.result', 'tc:..', 'tc:turn_1.tool_calls.k.out.json', 'so:sources_pool[1-999999999]'],
  ...['so:sources_pool[]', 'so:sources_pool[9-1,a,-3]', 'so:conv_x.sources_pool[1]', 'su:turn_1.conv.range.summary', 'ks:', 'ks:a/../b'],
  ...['sk:', 'sk:SK999999999999', 'skills.x', 'ref:fi:turn_1.files/a.md', 'ref:files/a.md', 'ref:so:sources_pool[1]', 'ref:', 'plan:x:y'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '\ud800', '\u202e', '\ufeff', 'é'.repeat(600), 'x'.repeat(5_000), '💥'],
)
const texts = fc.oneof(
  fc.constantFrom(
    '',
    '@@',
    '@@ -1 +1 @@',
    '--- a\n+++ b\n@@ -1,1 +1,1 @@\n-a\n+b\n',
    '@@ -0,0 +1 @@\n+x',
    '---\n---\n---',
    '+++',
    '(',
    '(a+)+$',
  ),
  fc.constantFrom(
    '[',
    '\\',
    '(?<a>',
    '.*',
    '^',
    'replace',
    'overlay',
    'new',
    'close',
    'canvas',
    'internal',
    'file',
    'display',
    '{"a":',
    '[[S:1]]',
  ),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
)
const numbers = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 1e308, -1e308, 2 ** 53, 0.5, 1e-320))
const leaf = fc.oneof({ weight: 4, arbitrary: paths }, texts, numbers, fc.boolean(), fc.constant(null))
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 6, arbitrary: leaf },
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.oneof(paths, fc.constantFrom('path', 'line_start', 'line_count', 'max_text_symbols')), tie('value'), { maxKeys: 4 }),
  ),
})).value

/** Parameters of any kind. Most have the right names in the right order, so that the tool is really called. */
function paramsFor(tool: Tool): fc.Arbitrary<object> {
  const shaped = tool.parameters.map(({ name, type, required }) => {
    const fits =
      type === 'string'
        ? fc.oneof({ weight: 3, arbitrary: paths }, texts)
        : type === 'array'
          ? fc.array(fc.oneof({ weight: 4, arbitrary: paths }, values), { maxLength: 6 })
          : type === 'number' || type === 'integer'
            ? fc.oneof(numbers, fc.nat(300))
            : type === 'boolean'
              ? fc.boolean()
              : fc.oneof(paths, fc.array(paths, { maxLength: 4 }), values)
    const value = fc.oneof({ weight: 6, arbitrary: fits }, values)
    return fc.tuple(fc.constant(name), required ? value : fc.option(value, { nil: undefined }))
  })
  return fc.tuple(...shaped).map((entries) => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
}

const memory = {
  search: async () => ({
    hits: [{ turn_id: 't', ts: '', score: Number.NaN, role: 'user' as const, path: 'x', text: '\ud800'.repeat(2_000) }],
  }),
}
const knowledge = { read: async (path: string) => (path.length % 2 ? { text: path } : Promise.reject(new Error('at /home/me/secret/x'))) }
const skills = { read: async () => undefined }
const knowledgeSearch = { search: async () => Promise.reject('no') }
const everything = { memory, knowledge, skills, knowledgeSearch }

/** Checks that every call has a result, and that the call comes first, then notices, then the result. */
function expectAnswered(blocks: readonly Block[]): void {
  const callIds = blocks.flatMap(({ type, call_id }) => (type === 'react.tool.call' ? [call_id] : []))
  for (const callId of callIds) {
    const results = blocks.filter(
      ({ type, call_id, path }) => type === 'react.tool.result' && call_id === callId && path?.startsWith('tc:'),
    )
    expect(results.length).toBeGreaterThan(0)
    for (const { text } of results) {
      const result = parseJson(text)
      if (isObject(result) && result.ok === false && 'status' in result)
        expect(result).toMatchObject({ status: 'error', error: { code: expect.any(String), message: expect.any(String) } })
    }
    const types = blocks.filter(({ call_id }) => call_id === callId).map(({ type }) => type)
    const order = types.filter((type) => ['react.tool.call', 'react.notice', 'react.tool.result'].includes(type))
    expect(order).toEqual([...order].sort((a, b) => rank(a) - rank(b)))
  }
}
const rank = (type: string) => ['react.tool.call', 'react.notice', 'react.tool.result'].indexOf(type)

const tools = builtInTools(everything)

describe.each(tools.map((tool) => [tool.id, tool] as const))('%s', (id, tool) => {
  it('returns a result for any parameters, and the turn continues', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(paramsFor(tool), { minLength: 5, maxLength: 5 }), async (given) => {
        // a valid call in between, because several rejected calls in a row would end the turn
        const fine = reply.call('react.plan', { mode: 'new', steps: ['go on'] })
        const replies = [
          reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: 'one\ntwo\n', kind: 'file' }),
          ...given.flatMap((params) => [reply.call(id, params), fine]),
          reply.answer('Done.'),
        ]
        const harness = createHarness({ replies, builtIn: everything, settings: unlimited })
        const { exitReason, error } = await harness.say('Go.')
        expect([exitReason, error]).toEqual(['complete', undefined])
        expect(harness.model.left).toBe(0)
        const blocks = (await harness.journal()).flatMap(blocksOfChange)
        expectAnswered(blocks)
        expect(JSON.stringify([blocks, harness.model.requests])).not.toContain('/home/me')
      }),
      { numRuns: 60 },
    )
  }, 120_000)
})

const cyclic = (): object => {
  const self: { me?: object } = {}
  self.me = self
  return self
}
const nested = (depth: number) => {
  let value: unknown = 'deep'
  for (let n = 0; n < depth; n++) value = [value]
  return value
}
const thrower = (what: unknown) => () => {
  throw what
}
const trap = new Proxy({}, { get: thrower(new Error('trap')), ownKeys: thrower(new Error('trap')), has: thrower(new Error('trap')) })
const unprintable = {
  toString: thrower(new Error('no')),
  get message() {
    throw new Error('no')
  },
}

/** Ways in which a badly written tool may behave. */
const behaviours: Readonly<Record<string, () => unknown>> = {
  'throws an error': thrower(new Error('at /home/me/secret/x')),
  'throws a string': thrower('word'),
  'throws undefined': thrower(undefined),
  'throws a value that can not be printed': thrower(unprintable),
  'rejects with a proxy': () => Promise.reject(trap),
  'returns nothing': () => undefined,
  'returns a symbol': () => Symbol('x'),
  'returns a function': () => () => 1,
  'returns a big number': () => 10n,
  'returns a big number deep down': () => ({ a: [{ b: 10n }] }),
  'returns NaN': () => Number.NaN,
  'returns a cyclic value': cyclic,
  'returns a cyclic value in an envelope': () => ({ ok: true, ret: cyclic() }),
  'returns a cyclic value in the details of an error': () => ({ ok: false, error: { code: 'x', message: 'y', details: cyclic() } }),
  'returns a very deep value': () => nested(100_000),
  'returns a throwing proxy': () => trap,
  'returns a map': () => new Map([[1, 2]]),
  'returns a value whose toJSON throws': () => ({ toJSON: thrower(new Error('no')) }),
  'returns a lone surrogate and a NUL': () => 'a\ud800\0b',
  'returns 100 MB': () => 'x '.repeat(50_000_000),
  'returns 100 MB of base64': () => 'A'.repeat(100_000_000),
  'returns very many keys': () => Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, n])),
  'returns an odd envelope': () => ({ ok: false, error: 5, ret: Symbol('x') }),
  'returns an error without a message': () => ({ ok: false }),
  'declares invalid files': () => ({
    artifact_type: 'files',
    files: [
      null,
      1,
      'x',
      {},
      { path: 5 },
      { path: '/etc/passwd' },
      { path: '../x' },
      { rn: 'ef:x', key: 'k', filename: '../../y' },
      { path: 'ar:x' },
    ],
  }),
  'declares very many files': () => ({
    artifact_type: 'files',
    files: Array.from({ length: 100_000 }, (_, n) => ({ path: `outputs/${n}` })),
  }),
  'declares an invalid list': () => ({ artifact_type: 'files', files: { length: 5 } }),
  'makes invalid artifacts': () => succeeded({ artifacts: [null, {}, { digest: {} }] as never }),
  'makes an artifact without a path': () => succeeded({ artifacts: [{ digest: { artifact_path: 5 }, mime: 7, text: 8 }] as never }),
  'returns invalid notices': () => succeeded({ notices: [null, { code: 5 }] as never }),
  'returns invalid blocks': () => succeeded({ drafts: [null, { type: 5 }] as never, after: [{}] as never }),
  'returns invalid sources': () => succeeded({ sources: [null, { url: 5 }, { title: {} }] as never }),
  'returns changes that a tool must not make': () =>
    succeeded({ changes: [{ type: 'turn.closed', turn_id: 'x' }, null, { type: 'nonsense' }] as never }),
  'never returns': () => new Promise(() => {}),
}

describe('a tool of another author', () => {
  it.each(Object.entries(behaviours))('that %s does not end the turn', async (_, run) => {
    const tool = defineTool({
      id: 'test.tool',
      description: 'Anything.',
      params: z.object({}),
      timeoutMs: 2_000,
      async run(_params, call) {
        await call.workspace() // opens the workspace, because results are then also written there
        return run() as never
      },
    })
    const problems: { readonly where: string }[] = []
    const harness = createHarness({
      replies: [reply.call('test.tool'), reply.answer('Done.'), reply.answer('Still here.')],
      tools: [tool],
      settings: { ...unlimited, stopGraceMs: 10 },
      onProblem: (problem) => problems.push(problem),
    })
    const { exitReason, error } = await harness.say('Go.')
    expect([exitReason, error]).toEqual(['complete', undefined])
    const blocks = (await harness.journal()).flatMap(blocksOfChange)
    expectAnswered(blocks)
    expect(JSON.stringify(harness.model.requests)).not.toContain('/home/me')
    expect(JSON.stringify(harness.model.requests).length).toBeLessThan(500_000)
    expect((await harness.say('And?')).answer).toBe('Still here.') // the next turn can still load the conversation
    expect(problems.filter(({ where }) => where !== 'result of test.tool')).toEqual([])
  })

  it.each([
    ['does not return in time', 'tool_timeout', {}, (): unknown => new Promise(() => {})],
    ['gets parameters that its schema rejects', 'invalid_params', { size: -1 }, (): unknown => 'ran'],
    ['returns a value that is not JSON', 'result_unfit', {}, (): unknown => cyclic()],
  ])('that %s gives the error %s', async (_, code, params, run) => {
    const schema = z.object({ size: z.number().min(0).optional() })
    const tool = defineTool({ id: 'test.tool', description: 'Anything.', params: schema, timeoutMs: 50, run: run as never })
    const harness = createHarness({
      replies: [reply.call('test.tool', params), reply.answer('Done.')],
      tools: [tool],
      settings: { stopGraceMs: 10 },
    })
    await harness.say('Go.')
    const results = (await harness.journal()).flatMap(blocksOfChange).filter(({ type }) => type === 'react.tool.result')
    expect(results.map(({ text }) => parseJson(text))).toMatchObject([{ ok: false, status: 'error', error: { code } }])
  })
})
