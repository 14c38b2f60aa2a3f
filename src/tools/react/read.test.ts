import { describe, expect, it } from 'vitest'
import { sliceOf } from '../../../test/support/prompts/shown-blocks.ts'
import { timelineOf } from '../../../test/support/prompts/timelines.ts'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import {
  artifactContentBlock,
  artifactDigestBlock,
  attachmentBlocks,
  type Draft,
  type Meta,
  noticeBlock,
  toolResultBlock,
} from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import { blockOrigin, call, header, minute, result, rounds } from '../../testing/blocks.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import type { Outcome } from '../tool.ts'
import { createReadTool } from './read.ts'
import { textFacts } from './text-artifact.ts'

const fi = (name: string, turnId = 't1') => `fi:${turnId}.files/${name}`
const file = (
  name: string,
  content: { text?: string; blob?: { sha256: string; size: number }; meta?: Meta },
  mime = 'text/markdown',
  turnId = 't1',
): readonly Draft[] => [
  artifactDigestBlock(blockOrigin('w', turnId), { artifact_path: fi(name, turnId), mime }),
  artifactContentBlock(blockOrigin('w', turnId), {
    path: fi(name, turnId),
    mime,
    digest: { artifact_path: fi(name, turnId), mime, size_bytes: 5 },
    ...content,
  }),
]
const sized = (size: number) => Buffer.alloc(size, size % 251)

function withoutDigest(draft: Draft): Draft {
  const { digest: _digest, ...meta } = draft.meta ?? {}
  return { ...draft, meta }
}

const read = createReadTool()
const rowsOf = (outcome: Outcome) => (outcome.output as { paths: unknown[] }).paths
/** The prompt of a timeline with only this outcome. */
function shownAfter(outcome: Outcome): string {
  const status = toolResultBlock(blockOrigin('k'), { mime: 'application/json', text: JSON.stringify(outcome.output) })
  const after = (outcome.after ?? []).map((draft) => ({ ...draft })) // `timelineOf` gives ids to drafts and modifies them
  const timeline = timelineOf([header(), call('k', 'react.read'), status, ...after])
  return sliceOf(timeline, 't1')
    .shown.flatMap(({ parts }) => parts)
    .map((part) => (part.type === 'text' ? part.text : `<${part.type}>`))
    .join('\n')
}
const contentOf = (outcome: Outcome) => (outcome.after ?? []).filter(({ path }) => !path?.startsWith('tc:t1.k.'))

describe('react.read', () => {
  it('tools 18.40: a missing path is listed and gets a notice; the other paths are still read', async () => {
    const fixture = await toolFixture([...rounds(1), call('big'), result('big', 'x'.repeat(20_000))])
    const outcome = await fixture.run(read, { paths: ['tc:t1.none.result', 'tc:t1.big.result', 'fi:t9.files/x.md', 't1/files/a.md'] })
    expect(outcome.output).toMatchObject({ missing: ['tc:t1.none.result', 'fi:t9.files/x.md', 't1/files/a.md'] })
    expect(rowsOf(outcome)).toMatchObject([
      { path: 'tc:t1.none.result', status: 'missing', missing: true },
      { path: 'tc:t1.big.result', tokens: 5_000 },
      { path: 'fi:t9.files/x.md', status: 'turn_log_missing' },
      { path: 't1/files/a.md', status: 'not_a_logical_path' },
    ])
    expect(outcome.notices).toMatchObject([
      { code: 'read_paths_missing', missing: ['tc:t1.none.result', 'fi:t9.files/x.md', 't1/files/a.md'] },
    ])
    expect(contentOf(outcome)).toMatchObject([
      { type: 'react.tool.result', path: 'tc:t1.big.result', text: 'x'.repeat(20_000), call_id: 'k' },
    ])
  })

  it('tools 18.41: content that is completely visible is not shown again, only its path', async () => {
    const fixture = await toolFixture([...rounds(1), ...file('a.md', { text: 'here' })])
    const outcome = await fixture.run(read, { paths: ['tc:t1.t1c0.result', fi('a.md'), 'ar:t1.user.prompt', fi('a.md')] })
    expect(outcome.after).toEqual([])
    expect(outcome.output).toMatchObject({
      paths: ['tc:t1.t1c0.result', fi('a.md'), 'ar:t1.user.prompt'].map((path) => ({ path, status: 'exists_in_visible_context' })),
      exists_in_visible_context: ['tc:t1.t1c0.result', fi('a.md'), 'ar:t1.user.prompt'],
      visible_context_refs: {
        'tc:t1.t1c0.result': 'tc:t1.t1c0.call',
        [fi('a.md')]: 'tc:t1.w.call',
        'ar:t1.user.prompt': 'ar:t1.user.prompt',
      },
      total_tokens: 0,
    })
  })

  it('content that is visible only in part is read: a preview, a patch', async () => {
    const again = await toolFixture(async (blobs) => {
      const keeps = [await blobs.put(Buffer.from('all of it'))]
      return [
        header(),
        ...file('p.md', { text: 'al…', meta: { partial: true, keeps } }),
        ...file('d.md', { text: '@@', meta: { is_patch: true, keeps } }),
      ]
    })
    const outcome = await again.run(read, { paths: [fi('p.md'), fi('d.md')] })
    expect(contentOf(outcome).map(({ path, text }) => [path, text])).toEqual([
      [fi('p.md'), 'all of it'],
      [fi('d.md'), 'all of it'],
    ])
  })

  it('a file is shown as its stored digest, unchanged, and its content', async () => {
    const fixture = await toolFixture([header('t0'), ...file('a.md', { text: 'old file' }, 'text/markdown', 't0'), header()], {
      hidden: [fi('a.md', 't0')],
    })
    const outcome = await fixture.run(read, { paths: [fi('a.md', 't0')] })
    const digest = '{"artifact_path":"fi:t0.files/a.md","mime":"text/markdown","size_bytes":5,"tool_call_id":"w"}'
    expect(outcome.after).toMatchObject([
      { path: 'tc:t1.k.result', text: digest },
      { path: fi('a.md', 't0'), text: 'old file', meta: { digest, tool_call_id: 'k' } },
    ])
    expect(outcome.after?.some(({ meta }) => meta?.hidden)).toBe(false)
    expect(Buffer.from((await fixture.workspace.files.read('t0/files/a.md')) ?? '').toString()).toBe('old file')
  })

  it('tools 18.43: a block that was hidden in the tail is revealed in place', async () => {
    const fixture = await toolFixture(rounds(6), { hidden: ['tc:t1.t1c5.result'] })
    const outcome = await fixture.run(read, { paths: ['tc:t1.t1c5.result'] })
    expect(outcome).toMatchObject({ changes: [{ type: 'blocks.revealed' }], after: [] })
    expect(rowsOf(outcome)).toMatchObject([{ status: 'revealed' }])
  })

  it('tools 18.43: a block that was hidden before the cache point is copied to the tail and stays hidden', async () => {
    const fixture = await toolFixture(rounds(6), { hidden: ['tc:t1.t1c0.result'] })
    const outcome = await fixture.run(read, { paths: ['tc:t1.t1c0.result'] })
    expect(outcome).toMatchObject({ changes: [], after: [{ path: 'tc:t1.t1c0.result', text: 'result 0 of t1' }] })
  })

  it('tools 18.44: of a long text the beginning is shown, with the call that reads on', async () => {
    const lines = Array.from({ length: 6_000 }, (_, n) => `line ${n}`)
    const fixture = await toolFixture([header(), call('long'), result('long', lines.join('\n'))])
    const outcome = await fixture.run(read, { paths: ['tc:t1.long.result'] })
    const [block] = contentOf(outcome)
    const text = block?.text ?? ''
    expect(text.length).toBeLessThanOrEqual(48_000)
    expect(rowsOf(outcome)).toMatchObject([{ status: 'truncated_for_visible_context' }])
    expect(outcome.output).toMatchObject({ truncated_paths: ['tc:t1.long.result'] })
    expect(block?.meta).toMatchObject({ partial: true })
    expect(text.split('\n').slice(0, 5)).toEqual([
      '[READ PREVIEW]',
      'path: tc:t1.long.result',
      expect.stringMatching(/^lines: \[1-\d+\]\/6000$/),
      'partial_line: false',
      '     1\tline 0',
    ])
    const next = JSON.parse(/continue: react\.read\((.*)\)$/.exec(text)?.[1] ?? '{}')
    const shown = Number(/lines: \[1-(\d+)\]/.exec(text)?.[1])
    expect(next).toMatchObject({ paths: ['tc:t1.long.result'], items: [{ line_start: shown + 1 }] })
    const more = await fixture.run(read, next)
    expect(contentOf(more)[0]?.text).toContain(`${String(shown + 1).padStart(6)}\tline ${shown}\n`)
  })

  it('following the continue calls shows every line once', async () => {
    const lines = Array.from({ length: 5_000 }, (_, n) => `${n} ${'x'.repeat(n % 97)}`)
    const fixture = await toolFixture([header(), call('long'), result('long', lines.join('\n'))])
    const seen: string[] = []
    let next: object | undefined = { paths: ['tc:t1.long.result'], line_numbers: 'disabled' }
    while (next) {
      const text: string = contentOf(await fixture.run(read, next))[0]?.text ?? ''
      const body = text.split('\n').slice(4)
      const end = body.findIndex((line) => line.startsWith('omitted: '))
      seen.push(...body.slice(0, end === -1 ? undefined : end))
      const call = /continue: react\.read\((.*)\)$/.exec(text)?.[1]
      next = call === undefined ? undefined : { ...(JSON.parse(call) as object), line_numbers: 'disabled' }
    }
    expect(seen).toEqual(lines)
  })

  it('a single very long line is continued by symbols', async () => {
    const endless = 'abcdefghij'.repeat(6_000)
    const fixture = await toolFixture([header(), call('long'), result('long', endless)])
    const text = contentOf(await fixture.run(read, { paths: ['tc:t1.long.result'] }))[0]?.text ?? ''
    expect(text).toContain('partial_line: true')
    const next = JSON.parse(/continue: react\.read\((.*)\)$/.exec(text)?.[1] ?? '{}') as { items: { offset_text_symbols: number }[] }
    const offset = next.items[0]?.offset_text_symbols ?? 0
    const more = contentOf(await fixture.run(read, next))[0]?.text ?? ''
    expect(more).toContain(`symbols: [${offset}-`)
    expect(more.split('\n')[3]).toBe(endless.slice(offset, offset + (more.split('\n')[3] ?? '').length))
    expect(text.split('\n')[4]?.slice(7)).toBe(endless.slice(0, offset))
  })

  it('a range shows exactly the requested part, each time it is requested', async () => {
    const fixture = await toolFixture([header(), call('r'), result('r', 'a\nb\nc\nd\ne')])
    const ask = { paths: [], items: [{ path: 'tc:t1.r.result', line_start: 2, line_count: 2 }] }
    const [block] = contentOf(await fixture.run(read, ask))
    expect(block).toMatchObject({
      text: '[READ RANGE]\npath: tc:t1.r.result\nlines: [2-3]/5\npartial_line: false\n     2\tb\n     3\tc\nomitted: 2 lines, 3 symbols\ncontinue: react.read({"paths":["tc:t1.r.result"],"items":[{"path":"tc:t1.r.result","line_start":4,"line_count":2}]})',
      meta: { partial: true, read_range: { line_start: 2, line_count: 2, total_lines: 5 } },
    })
    const symbols = { paths: [], items: [{ path: 'tc:t1.r.result', offset_text_symbols: 2, max_text_symbols: 3 }] }
    expect(contentOf(await fixture.run(read, symbols))[0]?.text).toMatch(/symbols: \[2-5\]\/9\nb\nc\nomitted: 4 symbols\ncontinue: /)
    const beyond = { paths: [], items: [{ path: 'tc:t1.r.result', line_start: 99 }] }
    expect(contentOf(await fixture.run(read, beyond))[0]?.text).toContain('lines: [5-5]/5')
  })

  it('line_numbers numbers all lines or every tenth', async () => {
    const text = Array.from({ length: 12 }, (_, n) => `l${n + 1}`).join('\n')
    const fixture = await toolFixture([header(), call('r'), result('r', text)])
    const shown = async (line_numbers: unknown) =>
      contentOf(await fixture.run(read, { paths: ['tc:t1.r.result'], line_numbers }))[0]?.text?.split('\n')
    expect((await shown('lines'))?.slice(0, 2)).toEqual(['     1\tl1', '     2\tl2'])
    expect((await shown('sparsed'))?.filter((line) => /\d\t/.test(line))).toEqual(['     1\tl1', '    10\tl10'])
    expect(await shown('disabled')).toEqual(undefined)
  })

  it('a file of n lines that ends in a newline has n lines, in the status of a read and in a digest', async () => {
    const fixture = await toolFixture([header()])
    await fixture.workspace.files.write('t1/files/a.md', Buffer.from('one\ntwo\n'))
    const stats = await fixture.run(read, { paths: [fi('a.md')], stats_only: true })
    expect(rowsOf(stats)).toMatchObject([{ line_count: 2, text_symbols: 8 }])
    expect(textFacts('one\ntwo\n', 'text/markdown', fixture.call)).toMatchObject({ line_count: 2 })
    expect(textFacts('one\ntwo', 'text/markdown', fixture.call)).toMatchObject({ line_count: 2 })
    expect(textFacts('', 'text/markdown', fixture.call)).toMatchObject({ line_count: 0 })
  })

  it('tools 18.46: stats_only returns the status and no content', async () => {
    const fixture = await toolFixture(
      async (blobs) => [...rounds(6), ...file('a.pdf', { blob: await blobs.put(sized(99)) }, 'application/pdf')],
      { hidden: ['tc:t1.t1c5.result'] },
    )
    const outcome = await fixture.run(read, { paths: ['tc:t1.t1c5.result', fi('a.pdf')], stats_only: true })
    expect(outcome).toMatchObject({ changes: [], after: [], output: { stats_only: true } })
    expect(rowsOf(outcome)).toEqual([
      { path: 'tc:t1.t1c5.result', status: 'stats_only', mime: 'text/markdown', bytes: 14, text_symbols: 14, line_count: 1, tokens: 4 },
      { path: fi('a.pdf'), status: 'stats_only', mime: 'application/pdf', bytes: 99 },
    ])
  })

  it('tools 18.47: a PDF of eleven megabytes is replaced by a marker; one of five is shown', async () => {
    const fixture = await toolFixture(async (blobs) => [
      header(),
      ...file('big.pdf', { blob: await blobs.put(sized(11 * 1024 * 1024)) }, 'application/pdf'),
      ...file('ok.pdf', { blob: await blobs.put(sized(5_000_000)) }, 'application/pdf'),
    ])
    const outcome = await fixture.run(read, { paths: [fi('big.pdf'), fi('ok.pdf')] })
    expect(rowsOf(outcome)).toMatchObject([
      { status: 'too_large_for_visible_context_bytes', bytes: 11 * 1024 * 1024 },
      { path: fi('ok.pdf'), bytes: 5_000_000 },
    ])
    expect(outcome.output).toMatchObject({ large_paths: [fi('big.pdf')] })
    const [marker, shown] = contentOf(outcome)
    expect(marker).toMatchObject({ text: expect.stringContaining('[TOO LARGE TO SHOW]') })
    expect(marker).not.toHaveProperty('blob')
    expect(shown).toMatchObject({ blob: { size: 5_000_000 } })
  })

  it('a file of which only a marker was shown is read with its own content and type', async () => {
    const blob = (blobs: BlobStore) => blobs.put(sized(50))
    const fixture = await toolFixture(async (blobs) => {
      const marker = { text: '[TOO LARGE TO SHOW]', meta: { partial: true, keeps: [await blob(blobs)] } }
      const [, plain] = file('a.pdf', marker, 'text/plain')
      const [digest, pdf] = file('a.pdf', { blob: await blob(blobs) }, 'application/pdf')
      return [header(), digest, pdf, plain].flatMap((draft) => (draft ? [withoutDigest(draft)] : []))
    })
    const outcome = await fixture.run(read, { paths: [fi('a.pdf')] })
    expect(contentOf(outcome)).toMatchObject([{ mime: 'application/pdf', blob: { size: 50 } }])
  })

  it('bytes that no model can be shown are described: type, size and physical path', async () => {
    const fixture = await toolFixture(async (blobs) => [
      header(),
      ...file('a.bin', { meta: { keeps: [await blobs.put(sized(7))] } }, 'application/zip'),
    ])
    const outcome = await fixture.run(read, { paths: [fi('a.bin')] })
    expect(rowsOf(outcome)).toEqual([{ path: fi('a.bin'), mime: 'application/zip', bytes: 7 }])
    const [block] = contentOf(outcome)
    expect(block).toMatchObject({ path: fi('a.bin'), mime: 'text/plain', meta: { partial: true, keeps: [{ size: 7 }] } })
    const shown = shownAfter(outcome)
    expect(shown).toContain('logical_path: fi:t1.files/a.bin\nphysical_path: t1/files/a.bin')
    expect(shown).toContain('[BINARY FILE] application/zip, 7 bytes')
    expect(shown).toContain('- fi:t1.files/a.bin (type=application/zip, bytes=7)')
    const again = await toolFixture(async (blobs) => {
      return [
        header(),
        ...file('a.bin', { meta: { keeps: [await blobs.put(sized(7))] } }, 'application/zip'),
        call('k', 'react.read'),
        ...(outcome.after ?? []),
      ]
    })
    expect(rowsOf(await again.run(read, { paths: [fi('a.bin')] }))).toMatchObject([{ status: 'exists_in_visible_context' }])
  })

  it('the status shows the model what stats_only is asked for, and the size of an image', async () => {
    const fixture = await toolFixture(async (blobs) => [header(), ...file('a.png', { blob: await blobs.put(sized(50)) }, 'image/png')])
    await fixture.workspace.files.write('t1/files/a.md', Buffer.from('one\ntwo\n'))
    const stats = await fixture.run(read, { paths: [fi('a.md'), fi('a.png')], stats_only: true })
    expect(shownAfter(stats)).toContain('- fi:t1.files/a.md (tokens=2, type=text/markdown, bytes=8, lines=2, status=stats_only)')
    expect(shownAfter(stats)).toContain('- fi:t1.files/a.png (type=image/png, bytes=50, status=stats_only)')
  })

  it('a file of the current turn is read from the workspace, even if it is not recorded', async () => {
    const fixture = await toolFixture([header(), ...file('a.md', { text: 'as written' })])
    await fixture.workspace.files.write('t1/files/a.md', Buffer.from('as a program left it'))
    await fixture.workspace.files.write('t1/outputs/new.txt', Buffer.from('found by a search'))
    const outcome = await fixture.run(read, { paths: [fi('a.md'), 'fi:t1.outputs/new.txt'] })
    expect(contentOf(outcome).map(({ text }) => text)).toEqual(['as a program left it', 'found by a search'])
    expect(outcome.after?.[2]?.text).toBe(
      '{"artifact_path":"fi:t1.outputs/new.txt","physical_path":"t1/outputs/new.txt","mime":"text/plain","kind":"file","size_bytes":17}',
    )
  })

  it('a link is not followed, and an agent without a workspace reads recorded files', async () => {
    const fixture = await toolFixture([
      header(),
      ...file('a.md', { text: 'recorded', meta: { partial: true } }),
      ...file('b.md', { text: 'x'.repeat(13_000) }),
    ])
    const refuse = () => Promise.reject(new Failure('file.unsafe', 'a link', { details: { reason: 'symlink_blocked' } }))
    const refusing = { ...fixture.workspace, files: { ...fixture.workspace.files, read: refuse, stat: refuse } }
    const linked = await read.run({ paths: [fi('a.md')] }, { ...fixture.call, workspace: async () => refusing })
    expect(contentOf(linked).map(({ text }) => text)).toEqual([
      '[CONTENT NOT AVAILABLE] text/markdown, 5 bytes\nOnly this record of the file is left.',
    ])
    const none = await read.run(
      { paths: [fi('b.md')] },
      { ...fixture.call, workspace: () => Promise.reject(new Failure('workspace.missing', 'none')) },
    )
    expect(contentOf(none).map(({ text }) => text?.length)).toEqual([13_000])
  })

  it('folders, other conversations and hostile paths are missing', async () => {
    const fixture = await toolFixture(rounds(1))
    const outcome = await fixture.run(read, {
      paths: ['fi:t1.files/app/', 'fi:conv_x.t1.files/a.md', 'fi:t1.files/../../etc/passwd', '/etc/passwd', ''],
    })
    expect(rowsOf(outcome)).toMatchObject([
      { status: 'folder' },
      { status: 'in_another_conversation' },
      { status: 'not_a_logical_path' },
      { status: 'not_a_logical_path' },
      { status: 'not_a_logical_path' },
    ])
    expect(outcome.notices?.[0]?.message).toContain('react.search_files')
    expect(outcome.notices?.[0]?.message).toContain('another conversation')
  })

  it('a path with the id of this conversation is the same path without it', async () => {
    const sources = [{ url: 'https://a.example/', title: 'A', text: 'short' }]
    const fixture = await toolFixture([...rounds(1), call('r'), result('r', 'x'.repeat(13_000))], { sources })
    await fixture.workspace.files.write('t1/files/a.md', Buffer.from('a\nb'))
    for (const [short, long] of [
      ['tc:t1.r.result', 'tc:conv_c1.t1.r.result'],
      ['fi:t1.files/a.md', 'conv:fi:conv_c1.t1.files/a.md'],
      ['so:sources_pool[1]', 'so:conv_c1.sources_pool[1]'],
      ['ar:t1.user.prompt', 'ar:conv_c1.t1.user.prompt'],
    ] as const) {
      const expected = await fixture.run(read, { paths: [short] })
      expect(expected.output).not.toHaveProperty('missing')
      expect(await fixture.run(read, { paths: [long] })).toEqual(expected)
      expect(await fixture.run(read, { paths: [short, long] })).toEqual(expected)
    }
    const range = (path: string) => ({ paths: [path], items: [{ path, line_start: 2 }] })
    expect(await fixture.run(read, range('fi:conv_c1.t1.files/a.md'))).toEqual(await fixture.run(read, range('fi:t1.files/a.md')))
  })

  it('several notices of one call are one text, and a result is its content, not its digest', async () => {
    const two = [noticeBlock(blockOrigin('n'), { code: 'a', message: 'one' }), noticeBlock(blockOrigin('n'), { code: 'b', message: 'two' })]
    const digested = [artifactDigestBlock(blockOrigin('d'), { artifact_path: fi('x.md') }), result('d', 'y'.repeat(13_000))]
    const fixture = await toolFixture([header(), call('n'), ...two, call('d'), ...digested])
    const outcome = await fixture.run(read, { paths: ['tc:t1.n.notice', 'tc:t1.d.result'] })
    expect(contentOf(outcome).map(({ text }) => text)).toEqual([expect.stringMatching(/"one"[\s\S]*"two"/), 'y'.repeat(13_000)])
  })

  it('a view such as the index of a turn is computed when it is read', async () => {
    const fixture = await toolFixture(rounds(2))
    const outcome = await fixture.run(read, { paths: ['ar:t1.react.turn.index'] })
    expect(contentOf(outcome)[0]?.text).toMatch(/^\[TURN INDEX\] t1/)
  })

  it('tools 18.13: a parameter of 5,000 characters is shortened in the call, and complete when the call is read', async () => {
    const query = 'long words '.repeat(500)
    const harness = createHarness({
      replies: [
        reply.call('react.hide', { path: query }),
        ({ parts }) => reply.call('react.read', { paths: [/\[path: (tc:[^\]]*\.call)\]/.exec(JSON.stringify(parts))?.[1]] }),
        reply.answer('Read.'),
      ],
    })
    await harness.say('Go.')
    const blocks = blocksOf(await harness.timeline())
    expect(blocks.find(({ type }) => type === 'react.tool.call')?.text).toContain('"truncated":true')
    const whole = blocks.findLast(({ type, path }) => type === 'react.tool.result' && path?.endsWith('.call'))
    expect(JSON.parse(whole?.text ?? '{}')).toMatchObject({ tool_id: 'react.hide', params: { path: query } })
  })
})

describe('reading sources', () => {
  const sources = [
    { url: 'https://a.example/', title: 'A', text: 'short', content: 'the whole page of A' },
    { url: 'https://b.example/', title: 'B', text: 'only a snippet', domain: 'b.example' },
    { physical_path: 't1/files/pic.png', artifact_path: fi('pic.png'), source_type: 'file' as const, title: 'pic' },
  ]

  it('pages become one text, files are read as files, and missing rows are listed', async () => {
    const fixture = await toolFixture(
      async (blobs) => [header(), ...file('pic.png', { blob: await blobs.put(sized(50)) }, 'image/png'), call('x')],
      {
        sources,
        hidden: [fi('pic.png')],
        turnId: 't2',
      },
    )
    const outcome = await fixture.run(read, { paths: ['so:sources_pool[1-3, 8]'] })
    const texts = (outcome.after ?? []).map(({ path, text }) => [path, text])
    expect(texts.at(-1)).toEqual([
      'so:sources_pool[1-3, 8]',
      '[S:1] A\nhttps://a.example/\nthe whole page of A\n\n[S:2] B\nhttps://b.example/ | b.example\nonly a snippet',
    ])
    expect(outcome.changes).toMatchObject([{ type: 'blocks.revealed' }])
    expect(rowsOf(outcome)[0]).toMatchObject({ path: fi('pic.png'), status: 'revealed' })
    expect(rowsOf(outcome).at(-1)).toEqual({ path: 'so:sources_pool[8]', status: 'sources_pool_rows_missing', missing: true })
  })

  it('max_text_symbols cuts the text of rows and leaves no row out', async () => {
    const fixture = await toolFixture([header()], { sources })
    const outcome = await fixture.run(read, { paths: ['so:sources_pool[1-2]'], max_text_symbols: 8_000 })
    expect(contentOf(outcome)[0]?.text).toContain('[S:2] B')
    const long = [1, 2].map((n) => ({ url: `https://${n}.example/`, title: `row ${n}`, text: '🙂'.repeat(600) }))
    const cut = await (await toolFixture([header()], { sources: long })).run(read, {
      paths: ['so:sources_pool[1-2]'],
      max_text_symbols: 1_002,
    })
    const rows = [1, 2].map((n) => `[S:${n}] row ${n}\nhttps://${n}.example/\n${'🙂'.repeat(250)}`)
    expect(contentOf(cut)[0]?.text).toBe(rows.join('\n\n'))
    const none = await fixture.run(read, { paths: ['so:sources_pool[9]'] })
    expect(none.output).toMatchObject({ missing: ['so:sources_pool[9]'] })
  })
})

describe('reading knowledge and skills', () => {
  it('tools 18.50: without a resolver a ks: path is missing, and the workspace is not opened', async () => {
    const fixture = await toolFixture([header()])
    const untouched = { ...fixture.call, workspace: () => Promise.reject(new Error('the workspace must not be opened')) }
    const outcome = await read.run({ paths: ['ks:guide/intro.md'] }, untouched)
    expect(rowsOf(outcome)).toEqual([{ path: 'ks:guide/intro.md', status: 'knowledge_resolver_missing', missing: true }])
  })

  it('the status of a ks: path says whether it was found, is missing, has no storage or could not be read', async () => {
    const pages: Record<string, () => Promise<object | undefined>> = {
      'ks:a': async () => ({ text: 'x'.repeat(60_000) }),
      'ks:b': async () => ({ bytes: Buffer.from('png'), mime: 'image/png' }),
      'ks:c': async () => undefined,
      'ks:d': async () => Promise.reject(new Error('down')),
      'ks:e': async () => ({ storageMissing: true }),
      'ks:f': async () => ({ mime: 'text/plain' }),
    }
    const tool = createReadTool({ knowledge: { read: (path) => (pages[path] ?? (async () => undefined))() as never } })
    const fixture = await toolFixture([header()])
    const problems: unknown[] = []
    const call = { ...fixture.call, onProblem: (problem: unknown) => problems.push(problem) }
    const outcome = await tool.run({ paths: Object.keys(pages) }, call)
    expect(problems).toMatchObject([{ where: 'knowledge', error: { message: 'down' } }])
    expect(rowsOf(outcome)).toMatchObject([
      { path: 'ks:a', kind: 'knowledge.space', status: 'truncated_for_visible_context' },
      { path: 'ks:b', mime: 'image/png' },
      { status: 'knowledge_path_missing' },
      { status: 'knowledge_resolver_error' },
      { status: 'knowledge_storage_missing' },
      { status: 'knowledge_unreadable' },
    ])
    expect(contentOf(outcome)[0]?.text?.length).toBeLessThanOrEqual(48_000)
  })

  it('tools 18.49: a skill is read once, and its citations are renumbered for the source pool', async () => {
    const sources = Array.from({ length: 7 }, (_, n) => ({ url: `https://known.example/${n}` }))
    const skill = {
      path: 'sk:public.charts',
      text: `ACTIVE\nUse [[S:1]] and [[S:2]]. ${'long '.repeat(2_000)}`,
      sources: [
        { sid: 1, url: 'https://x.example/' },
        { sid: 2, url: 'https://y.example/' },
      ],
    }
    const tool = createReadTool({ skills: { read: async (path) => (path === 'sk:public.charts' ? skill : undefined) } })
    const fixture = await toolFixture([header()], { sources })
    const outcome = await fixture.run(tool, { paths: ['sk:charts', 'skills.charts', 'sk:unknown'] })
    const [block, ...others] = contentOf(outcome)
    expect(others).toEqual([])
    expect(block?.text).toMatch(/^ACTIVE\nUse \[\[S:8\]\] and \[\[S:9\]\]\./)
    expect(outcome.sources).toEqual(skill.sources)
    expect(outcome.output).toMatchObject({ missing_skills: ['sk:public.unknown'] })
    expect(outcome.notices).toMatchObject([{ code: 'read_paths_missing', missing: [], missing_skills: ['sk:public.unknown'] }])
    const again = await toolFixture([header(), { ...(block as Draft), text: 'an older edition' }], { sources })
    expect(rowsOf(await again.run(tool, { paths: ['sk:charts'] }))).toMatchObject([{ status: 'exists_in_visible_context' }])
  })
})

describe('text that is not in UTF-8', () => {
  const sent = 'Zeile eins\nZeile zwei – ü\n'
  const swapped = (bytes: Buffer) => Buffer.from(bytes).swap16()
  it.each([
    ['UTF-16, little endian', Buffer.from(`\ufeff${sent}`, 'utf16le')],
    ['UTF-16, big endian', swapped(Buffer.from(`\ufeff${sent}`, 'utf16le'))],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${sent}`)],
  ])('is decoded, in an attachment and in a file: %s', async (_, bytes) => {
    const fixture = await toolFixture(async (blobs) =>
      attachmentBlocks('t1', minute(0), { name: 'a.txt', mime: 'text/plain', size_bytes: bytes.length, blob: await blobs.put(bytes) }),
    )
    const outcome = await fixture.run(createReadTool(), { paths: ['fi:t1.user.attachments/a.txt'] })
    expect(contentOf(outcome).map(({ text }) => text)).toEqual([sent])
    await fixture.workspace.files.write('t1/files/b.txt', bytes)
    const own = await fixture.run(createReadTool(), { paths: ['fi:t1.files/b.txt'] })
    expect(contentOf(own).map(({ text }) => text)).toEqual([sent])
  })
})
