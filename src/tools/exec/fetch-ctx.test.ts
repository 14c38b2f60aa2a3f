import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { artifactContentBlock, artifactDigestBlock, toolResultBlock } from '../../core/block/index.ts'
import type { Json } from '../../core/json.ts'
import type { IncomingSource } from '../../core/sources/source.ts'
import { blockOrigin, call, header, prompt } from '../../testing/blocks.ts'
import type { Call } from '../tool.ts'
import type { ExecOptions } from './exec-tools.ts'
import { fetchContext } from './fetch-ctx.ts'

const page = (name: string) => ({
  source_type: 'web' as const,
  title: name,
  url: `https://${name}.example/`,
  content: `All about ${name}.`,
})

const readers: ExecOptions['readers'] = {
  knowledge: {
    async read(path) {
      if (path === 'ks:broken.md') throw new Error('no disk at /srv/knowledge')
      return path === 'ks:guide.md' ? { text: '# Guide' } : undefined
    },
  },
  skills: {
    read: async (path) =>
      path.includes('pdf') ? { path: 'sk:public.pdf', text: 'See [[S:1]].', sources: [{ sid: 1, ...page('d') }] } : undefined,
  },
}

async function fixture() {
  const file = (name: string, mime: string, content: { text?: string }) => [
    artifactDigestBlock(blockOrigin('w'), { artifact_path: `fi:t1.files/${name}`, mime, kind: 'file' }),
    artifactContentBlock(blockOrigin('w'), {
      path: `fi:t1.files/${name}`,
      mime,
      digest: { artifact_path: `fi:t1.files/${name}`, mime, kind: 'file' },
      ...content,
    }),
  ]
  const made = await toolFixture(
    [
      header(),
      prompt('How many?'),
      call('a', 'sample.count'),
      toolResultBlock(blockOrigin('a'), { mime: 'application/json', text: '{"rows":3}' }),
      ...file('a.txt', 'text/plain', { text: 'content' }),
    ],
    { sources: ['a', 'b', 'c'].map(page) },
  )
  await made.workspace.files.write('t1/files/photo.png', Buffer.from([137, 80, 78, 71]))
  await made.workspace.files.write('t1/files/rows.json', Buffer.from('[1,2]'))
  const sources: IncomingSource[] = []
  const problems: unknown[] = []
  const current: Call = { ...made.call, onProblem: (problem) => void problems.push(problem) }
  const fetch = (path: string) => fetchContext(path, current, readers, (rows) => void sources.push(...rows))
  return { fetch, sources, problems }
}

const errorOf = (answer: Json) => (answer as { err: { code: string } | null }).err?.code

describe('fetch_ctx', () => {
  it('tools 18.86: gives the rows of the pool with their content, in the requested order', async () => {
    const { fetch } = await fixture()
    expect(await fetch('so:sources_pool[1,3]')).toEqual({
      ret: [
        { sid: 1, ...page('a') },
        { sid: 3, ...page('c') },
      ],
      err: null,
    })
    expect(await fetch('so:sources_pool[2-9]')).toMatchObject({ ret: [{ sid: 2 }, { sid: 3 }], err: null })
    expect(errorOf(await fetch('so:sources_pool[9]'))).toBe('not_found')
  })

  it('gives messages, results and files by their paths, and parses JSON', async () => {
    const { fetch } = await fixture()
    expect(await fetch('ar:t1.user.prompt')).toMatchObject({
      ret: { path: 'ar:t1.user.prompt', text: 'How many?', payload: 'How many?' },
      err: null,
    })
    expect(await fetch('tc:t1.a.result')).toMatchObject({ ret: { mime: 'application/json', payload: { rows: 3 } }, err: null })
    expect(await fetch('tc:t1.a.call')).toMatchObject({ ret: { payload: { tool_id: 'sample.count' } }, err: null })
    const text = {
      path: 'fi:t1.files/a.txt',
      kind: 'file',
      mime: 'text/plain',
      physical_path: 't1/files/a.txt',
      text: 'content',
      payload: 'content',
    }
    expect(await fetch('fi:t1.files/a.txt')).toEqual({ ret: text, err: null })
    expect(await fetch('t1/files/a.txt')).toEqual({ ret: text, err: null })
    expect(await fetch('fi:t1.files/rows.json')).toMatchObject({ ret: { payload: [1, 2] }, err: null })
    expect(await fetch('fi:t1.files/photo.png')).toMatchObject({
      ret: { mime: 'image/png', base64: 'iVBORw==', physical_path: 't1/files/photo.png' },
      err: null,
    })
  })

  it('gives knowledge and skills, and adds the sources of a skill with numbers of the pool', async () => {
    const { fetch, sources } = await fixture()
    expect(await fetch('ks:guide.md')).toMatchObject({ ret: { path: 'ks:guide.md', text: '# Guide' }, err: null })
    expect(await fetch('sk:public.pdf')).toMatchObject({ ret: { path: 'sk:public.pdf', text: 'See [[S:4]].' }, err: null })
    expect(sources).toMatchObject([{ url: 'https://d.example/' }])
  })

  it.each([
    ['', 'invalid_path_empty'],
    ['  ', 'invalid_path_empty'],
    ['hello', 'invalid_path_literal'],
    ['fi:', 'invalid_path_literal'],
    ['fi:t1.files/../x', 'invalid_path_literal'],
    ['xx:y', 'invalid_path_kind'],
    ['https://a.example/', 'invalid_path_kind'],
    ['fi:t1.files/', 'invalid_path_kind'],
    ['sk:', 'invalid_path_skill'],
    ['sk:public.none', 'not_found'],
    ['ar:t9.user.prompt', 'not_found'],
    ['fi:t1.files/none.txt', 'not_found'],
    ['ks:none.md', 'not_found'],
    ['su:t1.conv.range.summary', 'not_found'],
    ['ks:broken.md', 'tool_failure'],
  ])('answers %j with the error %s', async (path, code) => {
    const { fetch } = await fixture()
    const answer = await fetch(path)
    expect(answer).toMatchObject({ ret: null, err: { code, message: expect.stringMatching(/\.$/) } })
    expect(JSON.stringify(answer)).not.toContain('/srv/')
  })

  it('never throws, whatever the path is', async () => {
    const { fetch } = await fixture()
    const pieces = fc.constantFrom('fi:', 'ar:', 'so:', 'sources_pool[', ']', 't1', '.files/', '..', '\0', 'conv_c1.', ':', '9', ' ', '😀')
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.array(pieces, { maxLength: 6 }).map((list) => list.join('')),
        ),
        async (path) => {
          const answer = (await fetch(path)) as { ret: Json; err: Json }
          expect([answer.ret === null, answer.err === null].filter(Boolean)).toHaveLength(1)
        },
      ),
    )
  })
})
