import { describe, expect, it } from 'vitest'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { artifactContentBlock, artifactDigestBlock, type Draft, thinkingBlock, toolCodeBlock } from '../../core/block/index.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { blockOrigin, call, header, result, rounds } from '../../testing/blocks.ts'
import { createReadTool } from '../react/read.ts'
import type { Outcome } from '../tool.ts'

const read = createReadTool()
const fi = (name: string) => `fi:t1.files/${name}`
const file = (
  name: string,
  content: { text?: string; blob?: { sha256: string; size: number } },
  mime = 'text/markdown',
): readonly Draft[] => [
  artifactDigestBlock(blockOrigin('w'), { artifact_path: fi(name), mime }),
  artifactContentBlock(blockOrigin('w'), { path: fi(name), mime, digest: { artifact_path: fi(name), mime }, ...content }),
]
const sized = (size: number) => Buffer.alloc(size, size % 251)
const rowsOf = (outcome: Outcome) => (outcome.output as { paths: unknown[] }).paths
const contentOf = (outcome: Outcome) => (outcome.after ?? []).filter(({ path }) => !path?.startsWith('tc:t1.k.'))

describe('what react.read finds visible or hidden', () => {
  it('a hidden file that has changed is shown as it is now, and the old text stays hidden', async () => {
    const fixture = await toolFixture([header(), call('w', 'react.write'), ...file('a.md', { text: 'as it was' })], {
      hidden: [fi('a.md')],
    })
    await fixture.workspace.files.write('t1/files/a.md', Buffer.from('as it is now'))
    const outcome = await fixture.run(read, { paths: [fi('a.md')] })
    expect(outcome).toMatchObject({ changes: [], after: [{}, { path: fi('a.md'), text: 'as it is now' }] })
    expect(rowsOf(outcome)).not.toMatchObject([{ status: 'revealed' }])
  })

  it('a hidden draft stays hidden when the newest version is visible', async () => {
    const version = (callId: string, text: string) =>
      artifactContentBlock(blockOrigin(callId), { path: fi('a.md'), mime: 'text/markdown', digest: { artifact_path: fi('a.md') }, text })
    const [first, second] = [version('w1', 'the draft'), version('w2', 'the final text')]
    const fixture = await toolFixture([header(), call('w1', 'react.write'), first, call('w2', 'react.write'), second], { hide: ['b_3'] })
    const outcome = await fixture.run(read, { paths: [fi('a.md')] })
    expect(outcome).toMatchObject({ changes: [], after: [] })
    expect(rowsOf(outcome)).toMatchObject([{ status: 'exists_in_visible_context' }])
    const bothHidden = await toolFixture([header(), call('w1', 'react.write'), first, call('w2', 'react.write'), second], {
      hide: ['b_3', 'b_5'],
    })
    expect(await bothHidden.run(read, { paths: [fi('a.md')] })).toMatchObject({ changes: [{ ids: ['b_5'] }], after: [] })
  })

  it('a hidden result of which the prompt showed only the beginning is shown completely', async () => {
    const fixture = await toolFixture([...rounds(1), call('r'), result('r', 'x'.repeat(20_000))], { hidden: ['tc:t1.r.result'] })
    const outcome = await fixture.run(read, { paths: ['tc:t1.r.result'] })
    expect(outcome).toMatchObject({ changes: [], after: [{ text: 'x'.repeat(20_000) }] })
  })

  it.each<[string, object, object]>([
    ['the beginning of a long text', { paths: ['tc:t1.long.result'] }, { paths: ['tc:t1.long.result'], max_text_symbols: 9_000 }],
    [
      'a range',
      { paths: [], items: [{ path: 'tc:t1.long.result', line_start: 2, line_count: 2 }] },
      { paths: [], items: [{ path: 'tc:t1.long.result', line_start: 2, line_count: 3 }] },
    ],
    [
      'a numbered text',
      { paths: ['tc:t1.short.result'], line_numbers: 'lines' },
      { paths: ['tc:t1.short.result'], line_numbers: 'sparsed' },
    ],
    ['sources', { paths: ['so:sources_pool[1-2]'] }, { paths: ['so:sources_pool[1]'] }],
  ])('%s that is visible is not shown again, but another part or form is', async (_, same, other) => {
    const sources = [
      { url: 'https://a.example/', text: 'A' },
      { url: 'https://b.example/', text: 'B' },
    ]
    const long = Array.from({ length: 9_000 }, (_, n) => `line ${n}`).join('\n')
    const before = [header(), call('long'), result('long', long), call('short'), result('short', 'a\n'.repeat(12))]
    const first = await (await toolFixture(before, { sources })).run(read, same)
    expect(first.after).toHaveLength(1)
    const after = [...before, call('k', 'react.read'), ...(first.after ?? [])]
    const again = await (await toolFixture(after, { sources })).run(read, same)
    expect(again.after).toEqual([])
    expect(rowsOf(again)).toMatchObject([{ status: 'exists_in_visible_context' }])
    expect((await (await toolFixture(after, { sources })).run(read, other)).after).toHaveLength(1)
    const hidden = await toolFixture(after, { sources, hide: [`b_${after.length}`] })
    expect(await hidden.run(read, same)).toMatchObject({ changes: [{ type: 'blocks.revealed' }], after: [] })
  })

  it('content that the prompt never shows, or of which it shows only the beginning, counts as not visible', async () => {
    const program = 'x = 1\n'.repeat(3_000)
    const fixture = await toolFixture([
      ...rounds(1),
      thinkingBlock(blockOrigin('c'), 'my thoughts'),
      toolCodeBlock(blockOrigin('c'), program),
    ])
    const thoughts = (blocksOf(fixture.timeline).find(({ type }) => type === 'react.thinking') as Draft).path ?? ''
    const outcome = await fixture.run(read, { paths: [thoughts, 'tc:t1.c.code'] })
    expect(contentOf(outcome).map(({ text }) => text)).toEqual(['my thoughts', program])
  })

  it('an image for which there was no room counts as not visible', async () => {
    const fixture = await toolFixture(async (blobs) => {
      const images = await Promise.all(Array.from({ length: 9 }, (_, n) => blobs.put(sized(n + 50))))
      return [header(), call('w', 'draw.all'), ...images.flatMap((blob, n) => file(`${n}.png`, { blob }, 'image/png'))]
    })
    const outcome = await fixture.run(read, { paths: [fi('7.png'), fi('8.png')] })
    expect(rowsOf(outcome)).toMatchObject([{ status: 'exists_in_visible_context' }, { mime: 'image/png', bytes: 58 }])
    expect(contentOf(outcome)).toMatchObject([{ path: fi('8.png'), blob: { size: 58 } }])
  })
})
