import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { toolFixture } from '../../test/support/tool-fixture.ts'
import { artifactContentBlock, artifactDigestBlock, internalNoteBlock, resultMetadataBlock, toolResultBlock } from '../core/block/index.ts'
import { hasReference } from '../core/decision/signature.ts'
import { Failure } from '../core/failure.ts'
import { blockOrigin, header, prompt, result } from '../testing/blocks.ts'
import { defineTool } from './define.ts'
import { withBoundReferences } from './references.ts'

const file = (name: string, text: string) => [
  artifactDigestBlock(blockOrigin('w1'), { artifact_path: `fi:t1.files/${name}`, visibility: 'external' }),
  artifactContentBlock(blockOrigin('w1'), {
    path: `fi:t1.files/${name}`,
    mime: 'text/markdown',
    text,
    digest: { artifact_path: `fi:t1.files/${name}` },
  }),
]

const blocks = [
  header(),
  prompt('hello'),
  result('r1', 'a plain result'),
  resultMetadataBlock(blockOrigin('r2'), toolResultBlock(blockOrigin('r2'), { mime: 'application/json', text: '[]' }), {
    toolId: 'shop.list',
  }),
  toolResultBlock(blockOrigin('r2'), { mime: 'application/json', text: '{"rows":[1,2]}' }),
  ...file('a.md', 'the beginning…'),
  ...file('b.json', '{}'),
  artifactDigestBlock(blockOrigin('w2'), { artifact_path: 'fi:t1.files/gone.md' }),
  artifactDigestBlock(blockOrigin('w3'), { artifact_path: 'fi:t1.files/secret.md', visibility: 'internal' }),
  internalNoteBlock(blockOrigin('w3'), 'fi:t1.files/secret.md', '[P] mine'),
  result('r3', 'hidden result'),
]

async function bound(params: Record<string, unknown>, id = 'shop.send') {
  const fixture = await toolFixture(blocks, {
    hidden: ['tc:t1.r3.result'],
    sources: [
      { url: 'https://a.b/', title: 'A' },
      { url: 'https://c.d/', title: 'C' },
    ],
  })
  for (const [name, bytes] of [
    ['a.md', Buffer.from('the whole file')],
    ['b.json', Buffer.from('{"b":1}')],
    ['p.png', Buffer.from([0x89, 0, 0xff])],
  ] as const)
    await fixture.workspace.files.write(`t1/files/${name}`, bytes)
  let given: unknown
  const schema = z.looseObject({ text: z.string().optional(), data: z.unknown().optional() })
  const tool = defineTool({
    id,
    description: '',
    params: schema,
    run: (got) => {
      given = got
      return 'sent'
    },
  })
  expect(hasReference(params)).toBe(true)
  const outcome = await fixture.run(withBoundReferences(tool), params)
  return {
    given,
    outcome,
    notices: outcome.notices ?? [],
    codes: ((outcome.notices?.[0]?.violations ?? []) as { code: string }[]).map(({ code }) => code),
  }
}

describe('references in parameters', () => {
  it('that name another conversation are not bound, neither to its content nor to that of the same address here', async () => {
    for (const address of [
      'so:conv_other.sources_pool[1]',
      'tc:conv_other.t1.r1.result',
      'fi:conv_other.t1.files/a.md',
      'ar:conv_other.t1.user.prompt',
    ]) {
      expect((await bound({ data: `ref:${address}` })).codes).toEqual(['ref_other_conversation'])
      expect((await bound({ data: [`ref:conv:${address}`] })).codes).toEqual(['ref_other_conversation'])
    }
  })

  it('may name the conversation itself', async () => {
    for (const address of ['so:sources_pool[1]', 'tc:t1.r1.result', 'fi:t1.files/a.md', 'ar:t1.user.prompt']) {
      const [space, body] = [address.slice(0, 3), address.slice(3)]
      const short = await bound({ data: `ref:${address}` })
      expect((await bound({ data: `ref:conv:${space}conv_c1.${body}` })).given).toEqual(short.given)
      expect(short.codes).toEqual([])
    }
  })

  it('to the same file read it once per call, and are limited in total size', async () => {
    const large = Buffer.alloc(8 * 1024 * 1024, 'x')
    const fixture = await toolFixture(file('large.txt', 'the beginning'))
    await fixture.workspace.files.write('t1/files/large.txt', large)
    let reads = 0
    const files = {
      ...fixture.workspace.files,
      read(...path: Parameters<typeof fixture.workspace.files.read>) {
        reads++
        return fixture.workspace.files.read(...path)
      },
    }
    const call = { ...fixture.call, workspace: async () => ({ ...fixture.workspace, files }) }
    const tool = defineTool({ id: 'shop.send', description: '', params: z.looseObject({}), run: () => 'sent' })
    const send = (times: number) =>
      withBoundReferences(tool).run({ data: Array.from({ length: times }, () => 'ref:fi:t1.files/large.txt') }, call)
    expect(await send(4)).toMatchObject({ ok: true })
    const refused = await send(5_000)
    expect(refused).toMatchObject({ ok: false, error: { code: 'protocol_violation.param_ref_not_visible' } })
    expect(JSON.stringify(refused)).toContain('refs_too_large')
    expect(JSON.stringify(refused).length).toBeLessThan(20_000)
    expect(reads).toBe(2)
  })

  it('are replaced by visible content at any depth', async () => {
    const { given, notices } = await bound({
      text: 'ref:tc:t1.r1.result',
      data: { list: ['ref:ar:t1.user.prompt', 'plain'], in: { deep: 'ref:tc:t1.r2.result' } },
    })
    expect(given).toEqual({ text: 'a plain result', data: { list: ['hello', 'plain'], in: { deep: { rows: [1, 2] } } } })
    expect(notices).toEqual([])
  })

  it('bind JSON as a value, or as text for a string parameter', async () => {
    expect((await bound({ text: 'ref:tc:t1.r2.result', data: 'ref:tc:t1.r2.result' })).given).toEqual({
      text: '{"rows":[1,2]}',
      data: { rows: [1, 2] },
    })
  })

  it('bind the text of JSON wherever the schema takes only text', async () => {
    const fixture = await toolFixture(blocks)
    let given: unknown
    const text = z.string()
    const tool = defineTool({
      id: 'shop.send',
      description: '',
      params: z.object({
        mails: z.array(z.object({ body: text, data: z.unknown() })),
        note: text.nullable(),
        either: z.union([text, z.object({})]),
        named: z.record(z.string(), text),
      }),
      run: (params) => {
        given = params
        return 'sent'
      },
    })
    const ref = 'ref:tc:t1.r2.result'
    const params = { mails: [{ body: ref, data: ref }], note: ref, either: ref, named: { a: ref } }
    expect((await fixture.run(withBoundReferences(tool), params)).error).toBeUndefined()
    const json = '{"rows":[1,2]}'
    expect(given).toEqual({ mails: [{ body: json, data: { rows: [1, 2] } }], note: json, either: {}, named: { a: json } })
  })

  it('bind a file from the workspace, not from the timeline', async () => {
    expect((await bound({ text: 'ref:fi:t1.files/a.md', data: 'ref:fi:t1.files/b.json' })).given).toEqual({
      text: 'the whole file',
      data: { b: 1 },
    })
  })

  it('accept physical paths; a bare path means the current turn and gets a warning', async () => {
    expect(await bound({ text: 'ref:t1/files/a.md' })).toMatchObject({ given: { text: 'the whole file' }, notices: [] })
    const { given, notices } = await bound({ text: 'ref:files/a.md' })
    expect(given).toEqual({ text: 'the whole file' })
    expect(notices).toMatchObject([
      { code: 'protocol_warning.ref_path_normalized', original: 'ref:files/a.md', normalized: 'ref:fi:t1.files/a.md' },
    ])
  })

  it('bind sources as rows; missing ones get a warning', async () => {
    const { given, notices } = await bound({ sources_list: 'ref:so:sources_pool[1-2,9]' })
    expect(given).toMatchObject({
      sources_list: [
        { sid: 1, title: 'A' },
        { sid: 2, title: 'C' },
      ],
    })
    expect(notices).toMatchObject([{ code: 'tool_call_warning.missing_sources', missing_sids: [9] }])
  })

  it.each([
    [{ text: 'ref:tc:t1.nothing.result' }, 'ref_not_visible'],
    [{ text: 'ref:tc:t1.r3.result' }, 'ref_not_visible'],
    [{ text: 'ref:fi:t0.files/never.md' }, 'ref_not_visible'],
    [{ text: 'ref:files/never.md' }, 'ref_not_visible'],
    [{ text: 'ref:so:sources_pool[7]' }, 'ref_not_visible'],
    [{ text: 'ref:ks:page' }, 'ref_not_visible'],
    [{ text: 'ref:fi:t1.files/secret.md' }, 'ref_internal_not_visible'],
    [{ text: 'ref:fi:t1.files/gone.md' }, 'fi_ref_not_materialized'],
    [{ sources_list: 'ref:tc:t1.r1.result' }, 'sources_list_requires_so_ref'],
  ])('that can not be bound stop the call: %j, %s', async (params, code) => {
    const { given, outcome, codes } = await bound(params)
    expect(given).toBeUndefined()
    expect(outcome).toMatchObject({
      ok: false,
      error: { code: 'protocol_violation.param_ref_not_visible' },
      notices: [{ code: 'protocol_violation.param_ref_not_visible', tool_id: 'shop.send' }],
    })
    expect(codes).toEqual([code])
  })

  it('are bound in the content of a rendered document only if they lead to text', async () => {
    const png = await toolFixture([
      ...blocks,
      artifactDigestBlock(blockOrigin('w4'), { artifact_path: 'fi:t1.files/p.png', visibility: 'external' }),
    ])
    await png.workspace.files.write('t1/files/p.png', Buffer.from([0x89, 0, 0xff]))
    const tool = (id: string) =>
      withBoundReferences(
        defineTool({ id, description: '', params: z.looseObject({}), run: ({ content }) => (content as Uint8Array).length }),
      )
    const refused = await png.run(tool('rendering_tools.write_pdf'), { content: 'ref:fi:t1.files/p.png' })
    expect(refused.notices?.[0]?.violations).toMatchObject([{ code: 'renderer_content_ref_not_text', param: 'content' }])
    expect(await png.run(tool('shop.send'), { content: 'ref:fi:t1.files/p.png' })).toMatchObject({ ok: true, output: 3 })
    const link = {
      ...png.call,
      workspace: async () => ({
        ...png.workspace,
        files: {
          ...png.workspace.files,
          read: () => Promise.reject(new Failure('file.unsafe', 'a link', { details: { reason: 'symlink_blocked' } })),
        },
      }),
    }
    expect((await tool('shop.send').run({ content: 'ref:fi:t1.files/p.png' }, link)).notices?.[0]?.violations).toMatchObject([
      { code: 'ref_file_unsafe' },
    ])
  })

  it('are not bound to bytes in a parameter that takes text', async () => {
    const fixture = await toolFixture([
      artifactDigestBlock(blockOrigin('w4'), { artifact_path: 'fi:t1.files/p.png', visibility: 'external' }),
    ])
    await fixture.workspace.files.write('t1/files/p.png', Buffer.from([0x89, 0, 0xff]))
    const tool = defineTool({ id: 'shop.send', description: '', params: z.object({ text: z.string() }), run: () => 'sent' })
    const refused = await fixture.run(withBoundReferences(tool), { text: 'ref:fi:t1.files/p.png' })
    expect(refused.notices?.[0]?.violations).toMatchObject([{ code: 'ref_not_text', param: 'text' }])
  })

  it('that are not visible get a similar path as suggestion', async () => {
    const { notices } = await bound({ text: 'ref:fi:t0.files/a.md' })
    expect(notices[0]).toMatchObject({ violations: [{ suggested_ref: 'ref:fi:t1.files/a.md' }] })
  })

  it('do not match prose that begins with ref:', () => {
    for (const text of ['ref: see the appendix', 'ref:', 'reference fi:t1.files/a.md', 'ref:unknown', 'ref:fi:t1.files/a.md\nand more'])
      expect(hasReference({ text })).toBe(false)
    expect(hasReference({ a: [{ b: 'ref:fi:t1.files/a.md' }] })).toBe(true)
    expect(hasReference({ a: 1, b: null, c: ['x'] })).toBe(false)
  })

  it('in react.* tools are bound only in content and patch', async () => {
    const { given } = await bound({ path: 'ref:tc:t1.r1.result', content: 'ref:tc:t1.r1.result' }, 'react.write')
    expect(given).toEqual({ path: 'ref:tc:t1.r1.result', content: 'a plain result' })
  })
})
