import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { hostingOn } from '../../../test/support/hosting.ts'
import { codesOf, noticesOf } from '../../../test/support/watch-turn.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { isResultMetadata } from '../../core/block/index.ts'
import { localScope } from '../../core/scope.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { Hosting } from '../../ports/hosting.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../define.ts'
import { succeeded } from '../outcome.ts'
import type { Call, MadeArtifact, Outcome } from '../tool.ts'
import { historyOf } from './history.ts'

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3])
const pdf = Buffer.from(`%PDF-1.7\n${'x'.repeat(600)}\n%%EOF\n`)

type Work = (call: Call) => Promise<Outcome | { ok: boolean; ret: unknown }>

interface PerformOptions {
  /** By default, a hosting that works. */
  readonly hosting?: ((hosting: Hosting) => Hosting) | 'none'
  readonly exec?: true
  readonly eligibleMimes?: readonly string[]
}

async function perform(work: Work, options: PerformOptions = {}) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const { hosting, hosted } = hostingOn(store.blobs)
  const params = options.exec ? z.object({ contract: z.array(z.unknown()) }) : z.object({})
  const tool = defineTool({
    id: 'shop.make',
    description: 'Makes.',
    params,
    ...(options.exec && { exec: true as const }),
    run: (_, call) => work(call) as never,
  })
  const modelReply = options.exec
    ? reply.call('shop.make', { contract: [{ filename: 'files/a.md', description: 'b' }] }, { code: 'x' })
    : reply.call('shop.make', {})
  const problems: unknown[] = []
  const harness = createHarness({
    store,
    clock,
    tools: [tool],
    ...(options.hosting !== 'none' && { hosting: options.hosting?.(hosting) ?? hosting }),
    ...(options.eligibleMimes && { settings: { sources: { eligibleMimes: options.eligibleMimes } } }),
    onProblem: (problem) => problems.push(problem),
    replies: [modelReply, reply.answer('Done.')],
  })
  const { turnId } = await harness.say('Make it.')
  const timeline = await harness.timeline()
  const results = blocksOf(timeline).filter((block) => block.type === 'react.tool.result' && !isResultMetadata(block))
  return {
    harness,
    problems,
    store,
    timeline,
    turnId,
    hosted,
    hosting,
    results,
    digests: results.flatMap(({ text }) => (text?.startsWith('{"artifact_path"') ? [JSON.parse(text)] : [])),
  }
}

const fileOf = (call: Call, name: string, more: Partial<MadeArtifact['digest']> = {}) => ({
  artifact_path: `fi:${call.origin.turnId}.files/${name}`,
  physical_path: `${call.origin.turnId}/files/${name}`,
  kind: 'file' as const,
  visibility: 'external' as const,
  ...more,
})
const made =
  (name: string, mime: string, bytes?: Uint8Array, more: Partial<MadeArtifact> = {}): Work =>
  async (call) =>
    succeeded({ artifacts: [{ digest: fileOf(call, name), mime, ...(bytes && { bytes }), ...more }] })

describe('artifacts of a tool', () => {
  it.each([
    ['UTF-16', Buffer.from('\ufeffeins\n', 'utf16le')],
    ['UTF-8 with a byte order mark', Buffer.from('\ufeffeins\n')],
  ])('are shown as text and stored byte for byte: %s', async (_, bytes) => {
    const { store, results, turnId } = await perform(async (call) => {
      await (await call.workspace()).files.write(`${call.origin.turnId}/outputs/a.txt`, bytes)
      return { ok: true, ret: { artifact_type: 'files', files: [{ path: 'outputs/a.txt', visibility: 'internal' }] } }
    })
    expect(results.map(({ text }) => text)).toContain('eins\n')
    const records = { byPath: (path: string) => store.findByPath('c1', path) } as Call['records']
    const kept = await historyOf({ records, blobs: store.blobs }).bytes(`fi:${turnId}.outputs/a.txt`)
    expect(Buffer.from(kept ?? []).equals(bytes)).toBe(true)
  })

  it('are hosted once, even if they are declared many times; rows beyond the limit get a notice', async () => {
    const { hosted, harness } = await perform(async (call) => {
      await (await call.workspace()).files.write(`${call.origin.turnId}/outputs/a.txt`, Buffer.from('a'))
      return { ok: true, ret: { artifact_type: 'files', files: Array.from({ length: 300 }, () => ({ path: 'outputs/a.txt' })) } }
    })
    expect(hosted).toHaveLength(1)
    expect(await codesOf(harness)).toEqual(['delivery_failed.file_hosting'])
  })

  it('tools 18.19: a file is hosted once; its handles are in meta, and in no digest and no text', async () => {
    const { results, hosted, hosting, digests, harness } = await perform(made('a.md', 'text/markdown', undefined, { text: '# A' }))
    expect(hosted).toHaveLength(1)
    const content = results.at(-1)
    expect(content).toMatchObject({
      text: '# A',
      meta: { rn: expect.any(String), key: expect.any(String), hosted_uri: expect.any(String), keeps: [{ size: 3 }] },
    })
    const shown = JSON.stringify([...results.map(({ text }) => text), ...results.map(({ meta }) => meta?.digest), digests])
    for (const handle of ['rn', 'hosted_uri', 'key']) expect(shown).not.toContain(String(content?.meta?.[handle]))
    expect(shown).not.toMatch(/hosted_uri|\brn\b/)
    expect(JSON.stringify(harness.model.requests.map(({ parts }) => parts))).not.toContain(String(content?.meta?.rn))
    const found = await hosting.resolve(String(content?.meta?.rn), localScope)
    expect(found && Buffer.from(await hosting.read(found)).toString()).toBe('# A')
  })

  it('tools 18.20: failed hosting gives a notice without the reason, and the file is still stored', async () => {
    const broken = (hosting: Hosting): Hosting => ({ ...hosting, host: () => Promise.reject(new Error('bucket secret-bucket')) })
    const { harness, results, problems } = await perform(made('a.md', 'text/markdown', undefined, { text: '# A' }), { hosting: broken })
    expect(await codesOf(harness)).toEqual(['delivery_failed.file_hosting'])
    expect(problems).toMatchObject([{ where: 'hosting', error: { message: 'bucket secret-bucket' } }])
    expect(JSON.stringify(await harness.journal())).not.toContain('secret-bucket')
    expect(results.at(-1)).toMatchObject({ text: '# A' })
    const written = createHarness({
      replies: [reply.call('react.write', { path: 'a.md', channel: 'canvas', content: 'x', kind: 'file' }), reply.answer('Done.')],
      hosting: broken(hostingOn(createMemoryBlobs()).hosting),
    })
    await written.say('Write.')
    expect(await noticesOf(written)).toMatchObject([{ code: 'react.write.hosting_failed' }])
    const file = blocksOf(await written.timeline()).find(({ path }) => path?.endsWith('.files/a.md'))
    expect(file).toMatchObject({ text: 'x' })
    expect(file?.meta).not.toHaveProperty('rn')
  })

  it('a blob store that fails makes the call fail, and the turn continues', async () => {
    const clock = createFixedClock()
    const blobs = { ...createMemoryBlobs(), put: () => Promise.reject(new Error('disk full')) }
    const store = createMemoryStore({ blobs, clock })
    const tool = defineTool({
      id: 'shop.make',
      description: '',
      params: z.object({}),
      run: (_, call) => made('a.png', 'image/png', png)(call) as never,
    })
    const harness = createHarness({ store, clock, tools: [tool], replies: [reply.call('shop.make', {}), reply.answer('Then not.')] })
    expect(await harness.say('Make it.')).toMatchObject({ exitReason: 'complete', answer: 'Then not.' })
    expect(await noticesOf(harness)).toMatchObject([{ code: 'tool_result_error', error_code: 'result_unfit' }])
  })

  it('display and internal files are not hosted', async () => {
    for (const more of [{ kind: 'display' as const }, { visibility: 'internal' as const }]) {
      const { hosted } = await perform(async (call) =>
        succeeded({ artifacts: [{ digest: fileOf(call, 'a.md', more), mime: 'text/markdown', text: 'x' }] }),
      )
      expect(hosted).toEqual([])
    }
  })

  it('tools 18.14: every result and content block belongs to the call', async () => {
    const { results } = await perform(made('a.png', 'image/png', png))
    expect(results.map(({ meta, call_id }) => meta?.tool_call_id === call_id && call_id !== undefined)).toEqual([true, true])
  })

  it('an image or a PDF is stored as blob, and an external image becomes a source', async () => {
    const { results, timeline, turnId } = await perform(made('a.png', 'image/png', png))
    expect(results.at(-1)).toMatchObject({ mime: 'image/png', blob: { size: png.length }, path: `fi:${turnId}.files/a.png` })
    expect(timeline.sources.rows).toMatchObject([
      { sid: 1, source_type: 'file', physical_path: `${turnId}/files/a.png`, artifact_path: `fi:${turnId}.files/a.png` },
    ])
    const document = await perform(made('a.pdf', 'application/pdf', pdf))
    expect(document.results.at(-1)).toMatchObject({ blob: { size: pdf.length } })
    expect(document.timeline.sources.rows).toEqual([])
  })

  it('a PDF for the user is attached to the prompt; an internal one is only named', async () => {
    const documents = (harness: { model: { requests: readonly ModelRequest[] } }) =>
      harness.model.requests.at(-1)?.parts.filter(({ type }) => type === 'document')
    const shown = await perform(made('a.pdf', 'application/pdf', pdf))
    expect(documents(shown.harness)).toMatchObject([{ media_type: 'application/pdf', blob: { size: pdf.length } }])
    const internal = await perform(async (call) =>
      succeeded({ artifacts: [{ digest: fileOf(call, 'a.pdf', { visibility: 'internal' }), mime: 'application/pdf', bytes: pdf }] }),
    )
    expect(documents(internal.harness)).toEqual([])
    expect(JSON.stringify(internal.harness.model.requests.at(-1)?.parts)).toContain('[NOT ATTACHED] application/pdf')
  })

  it('of the PDFs that a round makes, at most as many are attached as the limit of a round allows', async () => {
    const { harness } = await perform(async (call) =>
      succeeded({
        artifacts: Array.from({ length: 10 }, (_, n) => ({ digest: fileOf(call, `${n}.pdf`), mime: 'application/pdf', bytes: pdf })),
      }),
    )
    const parts = harness.model.requests.at(-1)?.parts ?? []
    expect(parts.filter(({ type }) => type === 'document')).toHaveLength(8)
    expect(JSON.stringify(parts).match(/\[NOT ATTACHED\] application\/pdf/g)).toHaveLength(2)
  })

  it('a file for the user that is not hosted says that it was kept and not handed over', async () => {
    const failing = (hosting: Hosting): Hosting => ({ ...hosting, host: () => Promise.reject(new Error('full')) })
    for (const hosting of ['none', failing] as const) {
      const { digests, results, harness } = await perform(made('a.md', 'text/markdown', undefined, { text: '# A' }), { hosting })
      expect(digests).toMatchObject([{ visibility: 'external', handed_over: false }])
      expect(JSON.parse(results.at(-1)?.meta?.digest ?? '')).toMatchObject({ handed_over: false })
      expect(JSON.stringify(harness.model.requests.at(-1)?.parts)).toContain('delivery: kept, not handed over to the user')
    }
    const hosted = await perform(made('a.md', 'text/markdown', undefined, { text: '# A' }))
    expect(hosted.digests[0]).not.toHaveProperty('handed_over')
    const display = await perform(
      async (call) => succeeded({ artifacts: [{ digest: fileOf(call, 'a.md', { kind: 'display' }), mime: 'text/markdown', text: 'x' }] }),
      { hosting: 'none' },
    )
    expect(display.digests[0]).not.toHaveProperty('handed_over')
  })

  it('the source of a text file has a short snippet of its content, even after a patch', async () => {
    const content = `# Prices\n\n${'bread 2 euro, '.repeat(100)}`
    const works = [
      made('a.md', 'text/markdown', undefined, { text: content }),
      made('a.md', 'text/markdown', Buffer.from(content)),
      made('a.md', 'text/markdown', Buffer.from(content), { text: '@@ -1 +1 @@', isPatch: true }),
    ]
    for (const work of works) {
      const { timeline } = await perform(work, { eligibleMimes: ['text/*'] })
      const text = timeline.sources.rows[0]?.text ?? ''
      expect(text).toMatch(/^# Prices bread 2 euro, .*…$/)
      expect(text.length).toBeLessThanOrEqual(200)
    }
    const image = await perform(made('a.png', 'image/png', png))
    expect(image.timeline.sources.rows[0]).not.toHaveProperty('text')
  })

  it('bytes that no model can be shown are stored beside a block without content, and can be read again', async () => {
    const { store, turnId, results } = await perform(made('a.bin', 'application/octet-stream', Buffer.from([0, 1, 2])))
    expect(results.at(-1)).toMatchObject({ path: `fi:${turnId}.files/a.bin`, meta: { keeps: [{ size: 3 }] } })
    expect(results.at(-1)).not.toHaveProperty('text')
    const records = {
      byPath: (path: string) => store.findByPath('c1', path),
      byTurn: async () => [],
      byCall: async () => [],
      turnLog: async () => undefined,
    }
    expect(await historyOf({ records, blobs: store.blobs }).bytes(`fi:${turnId}.files/a.bin`)).toEqual(Uint8Array.of(0, 1, 2))
  })

  it('an image that is too large to be shown is stored', async () => {
    const { results } = await perform(made('a.png', 'image/png', Buffer.concat([png, Buffer.alloc(800_000)])))
    expect(results.at(-1)).not.toHaveProperty('blob')
    expect(results.at(-1)).toMatchObject({ meta: { multimodal_status: 'too_large_for_visible_context', keeps: [{ size: 800_011 }] } })
  })

  it('long text is cut between characters and stored completely', async () => {
    const { results } = await perform(made('a.txt', 'text/plain', Buffer.from(`a${'é'.repeat(15_000)}`)))
    const { text = '', meta } = results.at(-1) ?? {}
    expect(text).toBe(`a${'é'.repeat(9_999)}...[truncated]`)
    expect(meta).toMatchObject({ partial: true, keeps: [{ size: 30_001 }] })
  })

  it('a file without content in the outcome is read from the workspace', async () => {
    const lies: Work = async (call) => {
      await (await call.workspace()).files.write(`${call.origin.turnId}/files/a.pdf`, pdf)
      return succeeded({ artifacts: [{ digest: fileOf(call, 'a.pdf'), mime: 'application/pdf' }] })
    }
    const { digests, hosted } = await perform(lies)
    expect(digests).toMatchObject([{ size_bytes: pdf.length }])
    expect(hosted).toHaveLength(1)
  })

  it.each([
    ['a.pdf', 'application/pdf', Buffer.from('x'.repeat(900)), 'pdf_invalid'],
    ['a.md', 'text/markdown', undefined, 'file_not_found'],
    ['a.md', 'text/markdown', Buffer.alloc(0), 'empty_file'],
  ])('a broken %s becomes internal, with an error (%#)', async (name, mime, bytes, problem) => {
    const { harness, digests, hosted } = await perform(made(name, mime, bytes))
    expect(digests).toMatchObject([
      { status: 'error', visibility: 'internal', write_error: problem, error: { code: 'artifact_invalid', where: 'artifact_analysis' } },
    ])
    expect(hosted).toEqual([])
    expect(await noticesOf(harness)).toMatchObject([{ code: 'tool_result_error', error_code: 'artifact_invalid' }])
  })

  it('an unusually small file gets a warning in its digest only', async () => {
    const { harness, digests, hosted } = await perform(made('a.pdf', 'application/pdf', Buffer.from('%PDF-1.7\n%%EOF\n')))
    expect(digests).toMatchObject([{ write_warning: 'file_unusually_small' }])
    expect(digests[0]).not.toHaveProperty('status')
    expect([await codesOf(harness), hosted.length]).toEqual([[], 1])
  })

  it('a broken file of an exec tool gets no notice', async () => {
    const { harness, digests } = await perform(made('a.md', 'text/markdown', Buffer.alloc(0)), { exec: true })
    expect(digests).toMatchObject([{ status: 'error' }])
    expect(await codesOf(harness)).toEqual([])
  })

  it('a patch shows the diff and stores the patched content', async () => {
    const patch = made('a.md', 'text/markdown', Buffer.from('new'), { text: '@@ -1 +1 @@', isPatch: true })
    const { results } = await perform(patch)
    expect(results.at(-1)).toMatchObject({ text: '@@ -1 +1 @@', meta: { is_patch: true, keeps: [{ size: 3 }] } })
  })
})

describe('files that a tool declares', () => {
  const declared =
    (rows: readonly object[], nest = (value: object): object => value): Work =>
    async (call) => {
      await (await call.workspace()).files.write(`${call.origin.turnId}/outputs/r.csv`, Buffer.from('a,b'))
      return { ok: true, ret: nest({ artifact_type: 'files', files: rows }) }
    }

  it('become artifacts after the output, from its top or one level deeper', async () => {
    for (const nest of [(value: object) => value, (value: object) => ({ report: value })]) {
      const { results, hosted, turnId } = await perform(declared([{ path: 'outputs/r.csv', description: 'rows' }], nest))
      expect(results.map(({ path }) => path)).toEqual([
        expect.stringMatching(/^tc:.*result$/),
        expect.stringMatching(/^tc:.*result$/),
        `fi:${turnId}.outputs/r.csv`,
      ])
      expect(results.at(-1)).toMatchObject({ mime: 'text/csv', text: 'a,b', meta: { rn: expect.any(String) } })
      expect(hosted).toHaveLength(1)
    }
  })

  it('are plain data without artifact_type', async () => {
    const { results, hosted } = await perform(async () => ({ ok: true, ret: { files: [{ path: 'outputs/r.csv' }] } }))
    expect([results.length, hosted.length]).toEqual([1, 0])
  })

  it('that are hosted already are only recorded, and the model does not read their handles', async () => {
    const { results, hosted, turnId } = await perform(
      declared([{ rn: 'ef:x', hosted_uri: 's3://b/k', key: 'k', filename: 'r.pdf', size: 9, emitted: true }]),
    )
    expect(hosted).toEqual([])
    expect(results.at(-1)).toMatchObject({ path: `fi:${turnId}.outputs/r.pdf`, meta: { rn: 'ef:x', hosted_uri: 's3://b/k', key: 'k' } })
    expect(JSON.stringify(results.map(({ text }) => text))).not.toMatch(/s3:|ef:x/)
  })

  it.each([
    { physical_path: '/etc/passwd' },
    { path: '../x' },
    { path: 'outputs/none.csv' },
    { filename: 'x' },
    { rn: 'ef:x', filename: '../x' },
  ])('get a notice when they can not be hosted: %j', async (row) => {
    const { harness, hosted } = await perform(declared([row]))
    expect(hosted).toEqual([])
    expect((await codesOf(harness)).at(-1)).toBe('delivery_failed.file_hosting')
  })

  it('are not hosted when they are internal', async () => {
    const { harness, hosted, digests } = await perform(
      declared([
        { path: 'outputs/r.csv', visibility: 'internal' },
        { path: '../x', visibility: 'internal' },
      ]),
    )
    expect([hosted, await codesOf(harness)]).toEqual([[], []])
    expect(digests).toMatchObject([{ visibility: 'internal' }])
  })
})
