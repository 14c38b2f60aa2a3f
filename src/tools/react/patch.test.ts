import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { contextWithRoom } from '../../../test/support/context-size.ts'
import { library } from '../../../test/support/scenario-tools.ts'
import { noticesOf } from '../../../test/support/watch-turn.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryFiles } from '../../adapters/files/memory.ts'
import { createMemoryWorkspaces } from '../../adapters/workspace/custom/custom.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { localScope } from '../../core/scope.ts'
import { findArtifact } from '../../core/timeline/artifacts.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { Hosting } from '../../ports/hosting.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../define.ts'

/** Writes bytes to a file of the current turn. */
const put = defineTool({
  id: 'work.put',
  description: 'Puts bytes into this turn.',
  params: z.object({ path: z.string(), base64: z.string() }),
  async run({ path, base64 }, call) {
    await (await call.workspace()).files.write(`${call.origin.turnId}/${path}`, Buffer.from(base64, 'base64'))
    return 'there'
  },
})

const puts = (path: string, content: string | Uint8Array) =>
  reply.call('work.put', { path, base64: Buffer.from(content).toString('base64') })
const patches = (path: string, patch: string, more: { channel?: string; kind?: string } = {}) =>
  reply.call('react.patch', { path, channel: more.channel ?? 'canvas', patch, kind: more.kind ?? 'display' })

/** Runs one turn with these responses of the model. Returns its blocks and files. */
async function play(replies: readonly string[], options: Partial<HarnessOptions> = {}) {
  const harness = createHarness({ replies: [...replies, reply.answer('Done.')], tools: [put], ...options })
  await harness.say('Please do it.')
  return lookAt(harness)
}

async function lookAt(harness: Harness) {
  const { files } = await harness.workspaces.open(localScope, 'c1')
  const timeline = await harness.timeline()
  const blocks = blocksOf(timeline)
  const turnId = blocks.at(-1)?.turn_id ?? ''
  const call = blocks.findLast((block) => block.type === 'react.tool.call' && block.tool_id === 'react.patch')
  const ofCall = blocks.filter((block) => block.call_id === call?.call_id && block.type === 'react.tool.result')
  const result = parseJson(ofCall.at(-1)?.text)
  const error = isObject(result) && isObject(result.error) ? result.error : undefined
  const textOf = async (path: string) => {
    const bytes = await files.read(`${turnId}/${path}`)
    return bytes && Buffer.from(bytes).toString()
  }
  return { harness, timeline, files, blocks, turnId, results: ofCall, result, error, textOf, notices: await noticesOf(harness) }
}

const diff = '--- a\n+++ b\n@@ -1,9 +1,9 @@\n one\n-two\n+zwei\n'
const two = 'one\ntwo\n'

describe('react.patch', () => {
  it('tools 18.29: applies a diff with wrong counts, and stores it with the right ones', async () => {
    const { textOf, results, turnId } = await play([puts('files/a.md', two), patches('files/a.md', diff)])
    expect(await textOf('files/a.md')).toBe('one\nzwei\n')
    expect(results[1]?.text).toBe(`--- ${turnId}/files/a.md\n+++ ${turnId}/files/a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n`)
  })

  it('tools 18.37: appends a digest, the patch and a summary, in this order, without absolute paths', async () => {
    const hosts = diff.replace('--- a', '--- /home/me/secret/a.md')
    const { results, turnId, harness } = await play([puts('files/a.md', two), patches('files/a.md', hosts)])
    const logical = `fi:${turnId}.files/a.md`
    expect(results.map(({ path, mime }) => [path, mime])).toEqual([
      [results[0]?.path, 'application/json'],
      [logical, 'text/markdown'],
      [results[0]?.path, 'application/json'],
    ])
    expect(results[0]?.path).toMatch(/^tc:.*\.result$/)
    expect(parseJson(results[0]?.text)).toMatchObject({
      artifact_path: logical,
      edited: true,
      visibility: 'internal',
      mime: 'text/markdown',
    })
    expect(results[1]?.meta).toMatchObject({ is_patch: true, visibility: 'external' })
    for (const digest of [results[0]?.text, results[1]?.meta?.digest]) {
      expect(parseJson(digest)).toMatchObject({ visibility: 'internal', tool_id: 'react.patch', tool_call_id: results[0]?.call_id })
    }
    expect(parseJson(results[2]?.text)).toEqual({ path: `${turnId}/files/a.md`, ok: true })
    expect(JSON.stringify(results)).not.toContain('/home/me')
    const [kept] = results[1]?.meta?.keeps ?? []
    expect(Buffer.from(await harness.store.blobs.get(kept?.sha256 ?? '')).toString()).toBe('one\nzwei\n')
  })

  it('tools 18.31: changes nothing when one hunk does not match, and suggests what to read', async () => {
    const hunks = '@@ -1 +1 @@\n-one\n+eins\n@@ -2 +2 @@\n-zwo\n+zwei\n'
    const { textOf, error, results, turnId, notices } = await play([puts('files/a.md', two), patches('files/a.md', hunks)])
    expect(await textOf('files/a.md')).toBe(two)
    expect(results).toHaveLength(1)
    expect(error).toMatchObject({
      code: 'hunk_mismatch',
      details: {
        mismatch_diagnostic: { hunk_index: 2, first_mismatch: { patch_line: 5, target_line: 2, expected: 'zwo', actual: 'two' } },
        suggested_read: { path: `fi:${turnId}.files/a.md`, line_start: 1, line_count: 12, line_numbers: 'disabled' },
      },
    })
    expect(notices).toMatchObject([{ code: 'tool_result_error', error_code: 'hunk_mismatch' }])
  })

  it('tools 18.32: a patch that is no diff replaces the whole file', async () => {
    const { textOf, results, harness } = await play([puts('files/a.md', two), patches('files/a.md', '- not\n+ a diff\n')])
    expect(await textOf('files/a.md')).toBe('- not\n+ a diff\n')
    expect(results[1]).toMatchObject({ text: '- not\n+ a diff\n', meta: { is_patch: true } })
    expect(Buffer.from(await harness.store.blobs.get(results[1]?.meta?.keeps?.[0]?.sha256 ?? '')).toString()).toBe('- not\n+ a diff\n')
  })

  it('reports hunks that were applied at another line than given', async () => {
    const { result } = await play([puts('files/a.md', two), patches('files/a.md', '@@ -40 +40 @@\n-two\n+zwei\n')])
    expect(result).toMatchObject({ ok: true, relocated: [{ hunk: 1, requested_line: 40, applied_line: 2 }] })
  })

  it('keeps the byte order mark and the carriage returns of the file', async () => {
    const { textOf } = await play([puts('files/a.md', '\ufeffone\r\ntwo\r\n'), patches('files/a.md', diff)])
    expect(await textOf('files/a.md')).toBe('\ufeffone\r\nzwei\r\n')
  })

  it('tools 18.38: applies a patch that breaks the syntax, and adds a notice', async () => {
    const broken = await play([puts('files/a.json', '{\n"a": 1\n}\n'), patches('files/a.json', '@@ -2 +2 @@\n-"a": 1\n+"a": 1,\n')])
    expect(await broken.textOf('files/a.json')).toBe('{\n"a": 1,\n}\n')
    expect(broken.result).toMatchObject({ ok: true })
    expect(broken.notices).toMatchObject([{ code: 'post_patch_check_failed', path: `${broken.turnId}/files/a.json` }])
    const replaced = await play([puts('files/a.json', '{}'), patches('files/a.json', '{"a": }')])
    expect(replaced.notices.map(({ code }) => code)).toEqual(['post_patch_check_failed'])
    const emptied = await play([puts('files/a.md', 'one\n'), patches('files/a.md', '@@ -1 +0,0 @@\n-one\n')])
    expect(emptied.notices).toMatchObject([{ code: 'post_patch_check_failed', message: expect.stringContaining('empty') }])
  })
})

describe('a path with the id of this conversation', () => {
  it('is patched like the path without it', async () => {
    const harness = createHarness({
      replies: [
        puts('files/a.md', two),
        ({ parts }) => {
          const turnId = /ar:(turn_\w+)\.user\.prompt/.exec(JSON.stringify(parts))?.[1]
          return patches(`fi:conv_c1.${turnId}.files/a.md`, diff)
        },
        reply.answer('Done.'),
      ],
      tools: [put],
    })
    await harness.say('Please do it.')
    const { error, textOf } = await lookAt(harness)
    expect(error).toBeUndefined()
    expect(await textOf('files/a.md')).toBe('one\nzwei\n')
  })
})

describe('invalid patches', () => {
  it.each([
    ['missing_patch', two, patches('files/a.md', ' \n')],
    ['bad_channel', two, patches('files/a.md', diff, { channel: 'loud' })],
    ['bad_kind', two, patches('files/a.md', diff, { kind: 'paper' })],
    ['missing_path', two, patches('  ', diff)],
    ['patch_target_missing', two, patches('files/b.md', diff)],
    ['unsafe_path', two, patches('../a.md', diff)],
    ['unsafe_path', two, patches('files/a.md/b.md', diff)],
    ['invalid_write_logical_path', two, patches('tc:t1.k.result', diff)],
    ['invalid_write_logical_path', two, patches('fi:conv_other.turn_1.files/a.md', diff)],
    ['patch_unsupported_namespace', two, patches('attachments/a.md', diff)],
    ['patch_unsupported_namespace', two, patches('fi:turn_1.user.attachments/a.md', diff)],
    ['patch_unsupported_namespace', two, patches('turn_1/attachments/a.md', diff)],
    ['patch_target_unreadable', Uint8Array.of(0xff, 0xfe, 0x00), patches('files/a.md', diff)],
    ['patch_target_unreadable', 'x'.repeat(10 * 1024 * 1024 + 1), patches('files/a.md', diff)],
    ['no_hunks_found', two, patches('files/a.md', '---\ntitle: front matter\n---\n')],
    ['invalid_hunk_header', two, patches('files/a.md', '@@ somewhere @@\n-two\n')],
    ['invalid_hunk_line', two, patches('files/a.md', '@@ -1,2 +1,2 @@\none\n-two\n')],
    ['hunk_out_of_order', two, patches('files/a.md', '@@ -2 +2 @@\n-two\n+2\n@@ -1 +1 @@\n-one\n+1\n')],
    ['patch_multiple_files', two, patches('files/a.md', `${diff}--- a/c\n+++ b/c\n@@ -1 +1 @@\n-x\n+y\n`)],
    ['patch_too_large', two, patches('files/a.md', `@@ -1 +1 @@\n-one\n+${'x'.repeat(1_100_000)}\n`)],
  ])('%s: nothing changes and the turn continues', async (code, content, call) => {
    const { error, results, files, turnId, harness } = await play([puts('files/a.md', content), call])
    expect(error?.code).toBe(code)
    expect(results).toHaveLength(1)
    expect(Buffer.from((await files.read(`${turnId}/files/a.md`)) ?? '').equals(Buffer.from(content))).toBe(true)
    expect((await files.list('')).files).toHaveLength(1)
    expect(harness.model.left).toBe(0)
  })

  it('tools 18.35: a patch with copied line numbers is refused', async () => {
    const copied = '@@ -1,2 +1,2 @@\n      1\tone\n-     2\ttwo\n+     2\tzwei\n'
    const { error, textOf } = await play([puts('files/a.md', two), patches('files/a.md', copied)])
    expect(error?.code).toBe('patch_contains_preview_line_numbers')
    expect(await textOf('files/a.md')).toBe(two)
  })

  it.each([
    ['workspace_missing', new Failure('workspace.missing', 'none')],
    ['patch_target_unreadable', new Failure('workspace.failed', 'broken')],
    ['patch_target_unreadable', new Error('EIO')],
    ['unsafe_path', new Failure('file.unsafe', 'a link', { details: { reason: 'symlink_blocked' } })],
  ])('a file that can not be read gives the error %s', async (code, problem) => {
    const { error } = await play([patches('files/a.md', diff)], { workspaces: failing('read', problem) })
    expect(error?.code).toBe(code)
  })

  it.each([
    ['write_failed', new Error('ENOSPC: /var/lib')],
    ['unsafe_path', new Failure('file.unsafe', 'no', { details: { reason: 'read_only' } })],
  ])('a file that can not be written gives the error %s', async (code, problem) => {
    const { error } = await play([patches('files/a.md', diff)], { workspaces: failing('write', problem) })
    expect(error?.code).toBe(code)
    expect(JSON.stringify(error)).not.toContain('/var/lib')
  })
})

/** A workspace in which every file has the same text, and either reading or writing fails. */
function failing(what: 'read' | 'write', problem: Error): Workspaces {
  const workspaces = createMemoryWorkspaces({ blobs: createMemoryBlobs(), createFiles: createMemoryFiles })
  return {
    ...workspaces,
    async open(owner, conversationId) {
      const workspace = await workspaces.open(owner, conversationId)
      const files = { ...workspace.files, read: async () => Buffer.from(two), [what]: () => Promise.reject(problem) }
      return { ...workspace, files }
    },
  }
}

describe('a file of an earlier turn', () => {
  async function twoTurns(path: (old: string) => string, { pulls }: { readonly pulls: boolean }) {
    const old = { turn: '' }
    const pull = () => reply.call('react.pull', { paths: [`fi:${old.turn}.files/app/a.md`] })
    const replies = [
      puts('files/app/a.md', two),
      reply.answer('There.'),
      ...(pulls ? [pull] : []),
      () => patches(path(old.turn), diff),
      reply.answer('Done.'),
    ]
    const harness = createHarness({ replies, tools: [put] }) // the same workspace for both turns
    old.turn = (await harness.say('Make it.')).turnId
    await harness.say('Patch it.')
    return { ...(await lookAt(harness)), old: old.turn }
  }

  it.each([[(old: string) => `${old}/files/app/a.md`], [(old: string) => `fi:${old}.files/app/a.md`]])(
    'is patched as a copy in the current turn when it was pulled; the original stays',
    async (path) => {
      const { textOf, files, old, turnId, notices } = await twoTurns(path, { pulls: true })
      expect(await textOf('files/app/a.md')).toBe('one\nzwei\n')
      expect(Buffer.from((await files.read(`${old}/files/app/a.md`)) ?? '').toString()).toBe(two)
      const rewritten = { original: path(old), normalized: `${turnId}/files/app/a.md`, tool_id: 'react.patch' }
      expect(notices).toMatchObject([{ code: 'protocol_violation.path_rewritten', ...rewritten }])
    },
  )

  it('is not used when the current turn has a file of the same name: that file is patched', async () => {
    const replies = [puts('files/a.md', two), reply.answer('There.'), puts('files/a.md', 'one\ntwo\nthree\n')]
    const harness = createHarness({
      replies: [...replies, () => patches(`${first}/files/a.md`, diff), reply.answer('Done.')],
      tools: [put],
    })
    const first = (await harness.say('Make it.')).turnId
    await harness.say('Patch it.')
    expect(await (await lookAt(harness)).textOf('files/a.md')).toBe('one\nzwei\nthree\n')
  })

  it('tools 18.34: is not patched when it was not pulled, wherever it is; the error contains the react.pull call that helps', async () => {
    const { error, old, files } = await twoTurns((turn) => `${turn}/files/app/a.md`, { pulls: false })
    expect(error).toMatchObject({
      code: 'patch_requires_pull',
      details: { pull_hint: { tool_id: 'react.pull', params: { paths: [`fi:${old}.files/app/a.md`] } } },
    })
    expect((await files.list('')).files.map(({ path }) => path)).toEqual([`${old}/files/app/a.md`])
  })
})

describe('the content of a patched file', () => {
  it('is the new text, never the diff, also in a later turn with an empty workspace', async () => {
    const write = reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: two, kind: 'display' })
    const turn = { id: '' }
    const read = () => reply.call('react.read', { paths: [`fi:${turn.id}.files/a.md`] })
    const harness = createHarness({ replies: [write, patches('files/a.md', diff), reply.answer('Done.'), read, reply.answer('Read.')] })
    turn.id = (await harness.say('Patch it.')).turnId
    const { files } = await harness.workspaces.open(localScope, 'c1')
    for (const { path } of (await files.list('')).files) await files.remove(path)
    await harness.say('Read it.')
    const { blocks, turnId } = await lookAt(harness)
    const shown = blocks.filter((block) => block.turn_id === turnId && block.path === `fi:${turn.id}.files/a.md`)
    expect(shown.map(({ text }) => text)).toEqual(['one\nzwei\n'])
  })
})

describe('the visibility of a patched file', () => {
  const writes = (channel: string) => reply.call('react.write', { path: 'files/a.md', channel, content: two, kind: 'display' })
  const visibility = ({ timeline, turnId }: Awaited<ReturnType<typeof play>>) =>
    findArtifact(timeline, `fi:${turnId}.files/a.md`)?.metadata.visibility

  it('stays as it was, patch after patch', async () => {
    const again = '@@ -1 +1 @@\n-one\n+eins\n'
    expect(visibility(await play([writes('canvas'), patches('files/a.md', diff), patches('files/a.md', again)]))).toBe('external')
    expect(visibility(await play([writes('internal'), patches('files/a.md', diff), patches('files/a.md', again)]))).toBe('internal')
  })

  it('is in the call, so that users do not see the patch of an internal file', async () => {
    const callsOf = async (replies: readonly string[]) =>
      (await play(replies)).blocks.filter(({ tool_id }) => tool_id === 'react.patch').map(({ meta }) => meta?.visibility)
    expect(await callsOf([writes('canvas'), patches('files/a.md', diff), patches('a.md', 'all of it')])).toEqual(['external', 'external'])
    expect(await callsOf([writes('internal'), patches('files/a.md', diff), writes('canvas'), patches('files/a.md', diff)])).toEqual([
      'internal',
      'external',
    ])
    expect(await callsOf([puts('files/b.md', two), patches('files/b.md', diff)])).toEqual(['internal']) // the timeline does not know the file
  })

  it('is that of the same file in an earlier turn, even when a summary has replaced that turn', async () => {
    let turn = ''
    const page = (number: number) => reply.call('library.fetch', { page: number })
    const harness = createHarness({
      tools: [library()],
      settings: { contextTokens: contextWithRoom(3_900), keepRecentTurns: 1 },
      replies: [
        ...[writes('internal'), page(1), page(2), reply.answer('Read.'), '## Goal\nThe doors.'],
        () => reply.call('react.pull', { paths: [`fi:${turn}.files/`] }),
        () => patches(`fi:${turn}.files/a.md`, diff),
        reply.answer('Done.'),
      ],
    })
    await harness.say('Read two pages.')
    turn = blocksOf(await harness.timeline())[0]?.turn_id ?? ''
    await harness.say(`Now change it. ${'Please. '.repeat(400)}`)
    const { blocks, results } = await lookAt(harness)
    expect(blocks.filter(({ path }) => path === `fi:${turn}.files/a.md`)).toEqual([])
    expect(blocks.find(({ tool_id }) => tool_id === 'react.patch')?.meta?.visibility).toBe('internal')
    expect(results.map(({ meta }) => meta?.visibility)).toEqual([undefined, 'internal', 'internal'])
  })

  const hosting = (host: Hosting['host']): Hosting => ({
    host,
    resolve: async () => undefined,
    read: async () => Buffer.of(),
    stream: async function* () {},
    remove: async () => {},
  })

  it('is external for kind file: the whole file is hosted under its own type', async () => {
    const hosted: unknown[] = []
    const host: Hosting['host'] = async ({ physicalPath, mime, content }) => {
      const bytes = Buffer.from(content as Uint8Array)
      hosted.push([physicalPath, mime, bytes.toString()])
      const blob = { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
      return { key: 'k', hosted_uri: 'file:k', rn: 'ef:k', blob }
    }
    const content = '<p>\ntwo\n</p>\n'
    const patch = patches('files/a.html', '@@ -2 +2 @@\n-two\n+zwei\n', { kind: 'file' })
    const { results, turnId } = await play([puts('files/a.html', content), patch], { hosting: hosting(host) })
    expect(hosted).toEqual([[`${turnId}/files/a.html`, 'text/html', '<p>\nzwei\n</p>\n']])
    expect(results[1]?.meta).toMatchObject({ rn: 'ef:k', key: 'k', hosted_uri: 'file:k', visibility: 'external' })
    expect(results[0]?.text).not.toContain('ef:k')
    const quiet = patches('files/a.html', '@@ -2 +2 @@\n-two\n+zwei\n', { kind: 'file', channel: 'internal' })
    await play([puts('files/a.html', content), quiet], { hosting: hosting(host) })
    expect(hosted).toHaveLength(1)
  })

  it('when hosting fails the patch stays applied and the model gets a notice', async () => {
    const host = () => Promise.reject(new Error('disk full'))
    const { textOf, notices, result } = await play([puts('files/a.md', two), patches('files/a.md', diff, { kind: 'file' })], {
      hosting: hosting(host),
    })
    expect(await textOf('files/a.md')).toBe('one\nzwei\n')
    expect(result).toMatchObject({ ok: true })
    expect(notices).toMatchObject([{ code: 'react.patch.hosting_failed' }])
  })
})
