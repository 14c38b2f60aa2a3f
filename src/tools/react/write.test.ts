import { describe, expect, it } from 'vitest'
import { imageBytes } from '../../../test/support/models/provider-models.ts'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { codesOf, noticesOf } from '../../../test/support/watch-turn.ts'
import type { Block } from '../../core/block/index.ts'
import { artifactDigestBlock } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { localScope } from '../../core/scope.ts'
import { blocksAtPath, blocksOf } from '../../core/timeline/timeline.ts'
import { blockOrigin } from '../../testing/blocks.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { deliver } from '../artifacts/deliver.ts'
import { withBoundReferences } from '../references.ts'
import { createWriteTool } from './write.ts'

const writeTool = createWriteTool()

type Params = { path?: unknown; channel?: unknown; content?: unknown; kind?: unknown }
const write = (params: Params) => reply.call('react.write', params)

async function written(...params: readonly Params[]) {
  const harness = createHarness({ replies: [...params.map(write), reply.answer('Done.')] })
  const { turnId } = await harness.say('Write.')
  const blocks = blocksOf(await harness.timeline())
  const digests = blocks
    .filter(({ text }) => text?.includes('"artifact_path"'))
    .map(({ text }) => JSON.parse(text ?? '') as Record<string, unknown>)
  return { harness, turnId, blocks, digests, file: (rel: string) => fileIn(harness, `${turnId}/${rel}`) }
}

async function fileIn(harness: Harness, path: string): Promise<string | undefined> {
  const bytes = await (await harness.workspaces.open(localScope, 'c1')).files.read(path)
  return bytes && Buffer.from(bytes).toString()
}

const typesOf = (blocks: readonly Block[]) => blocks.filter(({ meta }) => meta?.iteration === 0).map(({ type }) => type)

describe('react.write', () => {
  it('writes the file, and appends its digest and its content', async () => {
    const { turnId, blocks, digests, file } = await written({
      path: 'files/app/a.md',
      channel: 'canvas',
      content: '# A\nb [[S:2]]',
      kind: 'display',
    })
    expect(await file('files/app/a.md')).toBe('# A\nb [[S:2]]')
    expect(typesOf(blocks)).toEqual(['react.thinking', 'react.tool.call', 'react.tool.result', 'react.tool.result'])
    expect(digests).toEqual([
      {
        artifact_path: `fi:${turnId}.files/app/a.md`,
        physical_path: `${turnId}/files/app/a.md`,
        mime: 'text/markdown',
        kind: 'display',
        visibility: 'external',
        channel: 'canvas',
        edited: false,
        size_bytes: 13,
        text_symbols: 13,
        line_count: 2,
        tokens: 4,
        sources_used: [2],
        tool_id: 'react.write',
        tool_call_id: expect.any(String),
        ts: expect.any(String),
      },
    ])
    expect(blocks.find(({ path }) => path === `fi:${turnId}.files/app/a.md`)).toMatchObject({
      text: '# A\nb [[S:2]]',
      mime: 'text/markdown',
      meta: { physical_path: `${turnId}/files/app/a.md`, sources_used: [2] },
    })
  })

  it('tools 18.28: an object is written as JSON with two spaces', async () => {
    const { file } = await written({ path: 'outputs/data.json', channel: 'canvas', content: { a: [1] }, kind: 'display' })
    expect(await file('outputs/data.json')).toBe('{\n  "a": [\n    1\n  ]\n}')
  })

  it('replaces an existing file; the digest says edited only when another call wrote it', async () => {
    const { turnId, digests, file, harness } = await written(
      { path: 'files/a.md', channel: 'canvas', content: 'first, and longer', kind: 'display' },
      { path: 'files/a.md', channel: 'canvas', content: 'second', kind: 'display' },
    )
    expect(await file('files/a.md')).toBe('second')
    expect(digests.map(({ edited }) => edited)).toEqual([false, true])
    expect(blocksAtPath(await harness.timeline(), `fi:${turnId}.files/a.md`).map(({ text }) => text)).toEqual([
      'first, and longer',
      'second',
    ])
  })

  it('tools 18.2: a path of another turn is moved into this one, with one notice', async () => {
    const { harness, turnId, digests, file } = await written({
      path: 'turn_o/files/output.csv',
      channel: 'timeline_text',
      content: 'a,b',
      kind: 'display',
    })
    expect(await file('files/output.csv')).toBe('a,b')
    expect(digests[0]).toMatchObject({ artifact_path: `fi:${turnId}.files/output.csv`, mime: 'text/csv', channel: 'timeline_text' })
    expect(await noticesOf(harness)).toMatchObject([
      {
        code: 'protocol_violation.path_rewritten',
        original: 'turn_o/files/output.csv',
        normalized: `${turnId}/files/output.csv`,
        tool_id: 'react.write',
      },
    ])
  })

  it('tools 18.4: an unsafe path is refused, nothing is written, and the turn continues', async () => {
    const paths = ['../x', '/etc/passwd', 'files/../../x', 'C:\\x', 'a\0b', 'turn_c/secret/x.md']
    const { harness } = await written(...paths.map((path) => ({ path, channel: 'canvas', content: 'x', kind: 'file' })))
    const errors = blocksOf(await harness.timeline()).flatMap(({ type, text }) =>
      type === 'react.tool.result' ? [(JSON.parse(text ?? '') as { error: { code: string } }).error.code] : [],
    )
    expect(errors).toEqual(paths.map(() => 'unsafe_path'))
    expect(await (await harness.workspaces.open(localScope, 'c1')).files.list('')).toEqual({ files: [], truncated: false, skipped: [] })
    expect(await codesOf(harness)).toEqual(paths.map(() => 'tool_result_error'))
  })

  it('tools 18.22: an internal file is a note with tags: it is not hosted, and the file is complete', async () => {
    const content = `[P] No emoji.\n[D] ${'Use metric units. '.repeat(200)}`
    const { turnId, blocks, digests, file } = await written({ path: 'files/notes.md', channel: 'internal', content, kind: 'file' })
    const note = blocks.find(({ type }) => type === 'react.note')
    expect(note).toMatchObject({
      path: `fi:${turnId}.files/notes.md`,
      meta: { channel: 'internal', note_tags: ['P', 'D'], visibility: 'internal', partial: true, keeps: [{ size: content.length }] },
    })
    expect(note?.text).toBe(`${content.slice(0, 2_000)}\n… the whole note is at fi:${turnId}.files/notes.md`)
    expect(digests[0]).toMatchObject({ visibility: 'internal', channel: 'internal' })
    expect(await file('files/notes.md')).toBe(content)
    expect(blocks.some(({ meta }) => meta?.rn !== undefined)).toBe(false)
  })

  it('tools 18.23: a file that the canvas can not show is written and gets a notice', async () => {
    const { harness, file } = await written({ path: 'files/x.xls', channel: 'canvas', content: 'x', kind: 'display' })
    expect(await codesOf(harness)).toEqual(['protocol_violation.write_extension_mismatch'])
    expect(await file('files/x.xls')).toBe('x')
  })

  it('tools 18.25: an empty file is written, and is an internal artifact with an error', async () => {
    const { harness, digests, file } = await written({ path: 'files/a.md', channel: 'canvas', content: '', kind: 'file' })
    expect(digests[0]).toMatchObject({
      status: 'error',
      visibility: 'internal',
      write_error: 'empty_file',
      error: { code: 'artifact_invalid', message: 'empty_file: the file has no content', where: 'artifact_analysis' },
    })
    expect(await noticesOf(harness)).toMatchObject([{ code: 'tool_result_error', error_code: 'artifact_invalid' }])
    expect(await file('files/a.md')).toBe('')
  })

  it.each([
    [{ path: ' ', content: 'x' }, 'missing_path'],
    [{ path: 'tc:t1.k.result', content: 'x' }, 'invalid_write_logical_path'],
    [{ path: 'fi:t1.elsewhere/x', content: 'x' }, 'invalid_write_logical_path'],
    [{ path: 't1/secret/x', content: 'x' }, 'unsafe_path'],
    [{ path: 'a.md', channel: 'stage', content: 'x' }, 'bad_channel'],
    [{ path: 'a.md', content: 'x', kind: 'folder' }, 'bad_kind'],
    [{ path: 'a.md', content: null }, 'content_missing'],
    [{ path: 'a.md' }, 'content_missing'],
  ])('%j is refused: %s', async (params, code) => {
    const fixture = await toolFixture([])
    expect(await fixture.run(writeTool, params)).toMatchObject({ ok: false, error: { code } })
    expect((await fixture.workspace.files.list('')).files).toEqual([])
  })

  it('a write error, a link and a missing workspace fail the call with different messages', async () => {
    const fixture = await toolFixture([])
    const failing = (error: Error) => ({
      ...fixture.call,
      workspace: async () => ({ ...fixture.workspace, files: { ...fixture.workspace.files, write: () => Promise.reject(error) } }),
    })
    const outcome = async (error: Error) => (await writeTool.run({ path: 'a.md', content: 'x' }, failing(error))).error
    expect(await outcome(new Error('ENOSPC: /var/secret'))).toMatchObject({
      code: 'write_failed',
      message: expect.not.stringContaining('secret'),
    })
    expect(await outcome(new Failure('workspace.failed', 'no'))).toMatchObject({ code: 'write_failed' })
    expect(await outcome(new Failure('file.unsafe', 'no', { details: { reason: 'symlink_blocked' } }))).toMatchObject({
      code: 'unsafe_path',
      details: { reason: 'symlink_blocked' },
    })
    const none = { ...fixture.call, workspace: () => Promise.reject(new Failure('workspace.missing', 'none')) }
    expect((await writeTool.run({ path: 'a.md', content: 'x' }, none)).error).toMatchObject({ code: 'workspace_missing' })
    const lost = {
      ...fixture.call,
      workspace: async () => ({ ...fixture.workspace, files: { ...fixture.workspace.files, stat: async () => undefined } }),
    }
    expect((await writeTool.run({ path: 'a.md', content: 'x' }, lost)).error).toMatchObject({ code: 'write_failed' })
  })

  it('records the sources that text cites, and those in the list `citations` of JSON and YAML', async () => {
    const fixture = await toolFixture([])
    const used = async (path: string, content: unknown) =>
      (await fixture.run(writeTool, { path, content })).artifacts?.[0]?.digest.sources_used
    expect(await used('a.md', 'x [[S:3,1]]\n```\n[[S:9]]\n```')).toEqual([1, 3])
    expect(await used('a.html', '<p>x<sup class="cite" data-sids="2">[[S:2]]</sup></p>')).toEqual([2])
    expect(await used('a.json', { citations: [{ sids: [4, 2] }, { sids: [2] }] })).toEqual([2, 4])
    expect(await used('a.yaml', 'a: 1\ncitations:\n  - sids: [5, 6]\n  - sids:\n      - 7\nb: 2\n')).toEqual([5, 6, 7])
    expect(await used('a.json', { sids: [4] })).toBeUndefined()
  })
})

describe('react.write of a reference', () => {
  const png = Buffer.from(imageBytes)
  const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])

  /** Calls `react.write` with `content: "ref:…"`. Returns the written bytes and the block that records them. */
  async function copied(from: string, to: string, bytes: Uint8Array, params: Params = {}) {
    const fixture = await toolFixture([
      artifactDigestBlock(blockOrigin('w0'), { artifact_path: `fi:t1.files/${from}`, visibility: 'external' }),
    ])
    const { files } = fixture.workspace
    await files.write(`t1/files/${from}`, bytes)
    const outcome = await fixture.run(withBoundReferences(writeTool), { path: to, content: `ref:fi:t1.files/${from}`, ...params })
    const context = { ...fixture.call, hosting: undefined, eligibleMimes: [], exec: false, onProblem: () => {} }
    const { delivered = [], notices = [] } = await deliver(fixture.call.origin, 'react.write', outcome, context)
    const [artifact] = delivered
    const kept = artifact?.meta.keeps?.[0] ?? artifact?.blob
    return {
      error: outcome.error?.code,
      written: Buffer.from((await files.read(`t1/${to}`)) ?? []),
      recorded: kept ? Buffer.from(await fixture.blobs.get(kept.sha256)) : Buffer.from(artifact?.text ?? artifact?.note ?? ''),
      artifact,
      codes: notices.map(({ code }) => code),
    }
  }

  it.each([
    [
      'numbers, duplicate keys and formatting of JSON',
      'a.json',
      Buffer.from('{"id":12345678901234567890, "price": 1.10,\n "a":1,"a":2}\n'),
    ],
    ['a byte order mark', 'a.json', Buffer.from('\ufeff{"a": 1}')],
    ['a byte order mark', 'a.csv', Buffer.from('\ufeffa,b\r\n')],
    ['UTF-16', 'a.txt', utf16('ümlaut 😀\n')],
    ['UTF-16', 'a.json', utf16('{"a": 1.10}')],
    ['an image', 'a.png', png],
    ['bytes without a type', 'a.bin', Buffer.from([0xff, 0, 1, 2])],
  ])('copies the bytes: %s, %s', async (_what, name, bytes) => {
    const { written, recorded, artifact, codes } = await copied(name, `files/copy/${name}`, bytes, { channel: 'timeline_text' })
    expect({ written, recorded }).toEqual({ written: bytes, recorded: bytes })
    expect(artifact?.digest).toMatchObject({ size_bytes: bytes.length, visibility: 'external' })
    expect(artifact?.digest.status).toBeUndefined()
    expect(codes).toEqual([])
  })

  it('the model reads the text of a copied text, and an image has the type of an image', async () => {
    expect((await copied('a.txt', 'files/b.md', utf16('ü [[S:3]]\nx\n'))).artifact).toMatchObject({
      text: 'ü [[S:3]]\nx\n',
      mime: 'text/markdown',
      digest: { text_symbols: 12, line_count: 2, sources_used: [3] },
    })
    const image = (await copied('a.png', 'files/b.png', png, { channel: 'timeline_text' })).artifact
    expect(image).toMatchObject({ mime: 'image/png', blob: { size: png.length } })
    expect(image?.digest).not.toHaveProperty('line_count')
  })

  it('an image that is copied to a file name of a text is stored as bytes, and an internal image does not become a note', async () => {
    expect((await copied('a.png', 'files/b.md', png)).artifact).toMatchObject({ mime: 'application/octet-stream' })
    const { artifact, recorded } = await copied('a.png', 'files/b.png', png, { channel: 'internal' })
    expect(artifact).toMatchObject({ digest: { visibility: 'internal' }, blob: { size: png.length } })
    expect(artifact).not.toHaveProperty('note')
    expect(recorded).toEqual(png)
    const note = await copied('a.txt', 'files/n.md', utf16('[P] ü'), { channel: 'internal' })
    expect(note.artifact).toMatchObject({ note: '[P] ü' })
    expect(note.recorded).toEqual(utf16('[P] ü'))
  })

  it('inside a JSON value is replaced by the parsed JSON of the file', async () => {
    const { written } = await copied('a.json', 'files/b.json', Buffer.from('{ "a":  1 }'), { content: { all: ['ref:fi:t1.files/a.json'] } })
    expect(JSON.parse(written.toString())).toEqual({ all: [{ a: 1 }] })
  })

  it('copies an attachment of the message', async () => {
    const harness = createHarness({
      replies: [
        reply.call('react.write', { path: 'files/p.png', channel: 'timeline_text', content: 'ref:attachments/p.png' }),
        reply.answer('Done.'),
      ],
    })
    const { turnId } = await harness.agent.run('c1', 'Keep it.', { attachments: [{ name: 'p.png', content: png }] }).result
    const { files } = await harness.workspaces.open(localScope, 'c1')
    expect(await codesOf(harness)).toEqual(['protocol_warning.ref_path_normalized'])
    expect(Buffer.from((await files.read(`${turnId}/files/p.png`)) ?? [])).toEqual(png)
  })
})
