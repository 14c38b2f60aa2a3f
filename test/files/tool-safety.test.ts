import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { placeAttachments } from '../../src/agent/turn/attachments.ts'
import { artifactContentBlock, attachmentBlocks } from '../../src/core/block/index.ts'
import { isObject, parseJson } from '../../src/core/json.ts'
import { unsafeReason } from '../../src/core/path/safety.ts'
import { localScope } from '../../src/core/scope.ts'
import { blockOrigin as at, minute } from '../../src/testing/blocks.ts'
import type { HostilePlace, HostileThing } from '../../src/testing/hostile-files.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { withBoundReferences } from '../../src/tools/references.ts'
import { createAgentOnDisk, expectNoHarm, outsides, plant, removeAll, root } from '../support/hostile/agent-on-disk.ts'
import { timelineOf } from '../support/prompts/timelines.ts'
import { toolFixture } from '../support/tool-fixture.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

afterAll(removeAll)

const errorOf = (results: readonly string[] | undefined) => {
  const last = parseJson(results?.at(-1))
  return isObject(last) && isObject(last.error) ? (last.error as { code: string }).code : undefined
}

/** Whether the path is in the Unicode form NFC. Tools convert paths to NFC, so they never open a file with another name. */
const isComposed = ({ path }: HostileThing) => path === path.normalize('NFC')

const write = (path: string) => reply.call('react.write', { path, channel: 'canvas', content: 'overwritten', kind: 'file' })
const patch = (path: string) => reply.call('react.patch', { path, channel: 'canvas', patch: 'overwritten', kind: 'file' })
const logical = (turnId: string, path: string) => `fi:${turnId}.files/${path.slice(path.indexOf('/files/') + 7)}`
const empty: HostilePlace = { things: [], secret: '', outside: () => ({}), outsideFolder: '' }

/** A tool call with a hostile path, and how to recognise that the tool rejected the path. */
interface Attempt {
  readonly tool: string
  readonly use: 'reads' | 'writes' | 'asFolder'
  call(turnId: string, path: string): string
  refuses(results: readonly string[] | undefined): boolean
  /** Hostile names that do no harm with this tool: it does not open large files, or it treats the name as that of a folder. */
  readonly harmless?: readonly string[]
}

const reportsMissing = (results: readonly string[] | undefined) => {
  const status = parseJson(results?.[0])
  return isObject(status) && Array.isArray(status.paths) && status.paths.every((row) => isObject(row) && row.missing === true)
}

const attempts: readonly Attempt[] = [
  { tool: 'react.write', use: 'writes', call: (_, path) => write(path), refuses: (results) => errorOf(results) === 'unsafe_path' },
  {
    tool: 'react.patch',
    use: 'reads',
    call: (_, path) => patch(path),
    refuses: (results) => ['unsafe_path', 'patch_target_unreadable'].includes(errorOf(results) ?? ''),
  },
  {
    tool: 'react.read',
    use: 'reads',
    call: (turnId, path) => reply.call('react.read', { paths: [logical(turnId, path)] }),
    refuses: reportsMissing,
  },
  {
    tool: 'react.pull',
    use: 'reads',
    call: (turnId, path) => reply.call('react.pull', { paths: [logical(turnId, path)] }),
    refuses: (results) => errorOf(results) === 'pull_nothing_resolved',
    harmless: ['sparse', 'honest.txt/'],
  },
  {
    tool: 'react.search_files in a folder',
    use: 'asFolder',
    call: (_, path) => reply.call('react.search_files', { root: path, pattern: 'e' }),
    refuses: (results) => errorOf(results) === 'search_invalid_root',
  },
  {
    tool: 'declared files',
    use: 'reads',
    call: (_, path) => reply.call('test.declare', { paths: [path] }),
    refuses: (results) => !results?.some((text) => text.includes('"size_bytes"')),
  },
]

describe.each(['custom', 'git'] as const)('on a disk that a hostile program has changed, %s', (kind) => {
  it.each(attempts)('$tool rejects every hostile path, and the turn continues', async ({ use, call, refuses, harmless = [] }) => {
    const harness = createAgentOnDisk(kind)
    let [planted, before] = [empty, {}]
    const hostile = async (turnId: string) => {
      planted = await plant(harness.outDir, `${turnId}/files`)
      before = planted.outside()
    }
    const names = (await probe()).things
    const { results, exitReason, error } = await harness.turn(hostile, [
      ...names.map((thing) => (turnId: string) => call(turnId, thing.path.replace('turn_1', turnId))),
      () => write('files/sparse'), // replaces a sparse file of a terabyte, because a turn could not publish it
    ])
    expect([exitReason, error?.message]).toEqual(['complete', undefined])
    expect(results.length).toBe(names.length + 1)
    const answered = names.map((thing, n) => ({ thing, answer: results[n] }))
    const mustRefuse = answered.filter(
      ({ thing }) => isComposed(thing) && thing[use] && !harmless.some((name) => thing.path.endsWith(`/${name}`)),
    )
    expect(mustRefuse.length).toBeGreaterThan(30)
    expect(mustRefuse.filter(({ answer }) => !refuses(answer))).toEqual([])
    await expectNoHarm(harness, planted, before)
  })

  it('a search finds no content from outside and lists only regular files', async () => {
    const harness = createAgentOnDisk(kind)
    let [planted, before] = [empty, {}]
    const hostile = async (turnId: string) => {
      planted = await plant(harness.outDir, `${turnId}/files`)
      before = planted.outside()
    }
    const { results } = await harness.turn(hostile, [
      () => reply.call('react.search_files', { pattern: 'secret outsid[e]' }),
      () => reply.call('react.search_files', {}),
      () => write('files/sparse'),
    ])
    expect(JSON.parse(results[0]?.[0] ?? '')).toMatchObject({ hits: [] })
    const listed = (JSON.parse(results[1]?.[0] ?? '') as { hits: { path: string }[] }).hits.map(({ path }) => path.split('/').at(-1))
    expect(listed).toEqual(['closed', 'file', 'honest.txt', 'sparse'])
    await expectNoHarm(harness, planted, before)
  })

  it('a published version has the regular files only, and no result names the others', async () => {
    const harness = createAgentOnDisk(kind)
    let [planted, before] = [empty, {}]
    const { turnId, exitReason } = await harness.turn(
      async (id) => {
        planted = await plant(harness.outDir, `${id}/files/app`)
        rmSync(join(harness.outDir, id, 'files/app/sparse'))
        before = planted.outside()
      },
      [() => reply.call('react.search_files', {})],
    )
    expect(exitReason).toBe('complete')
    const { results } = await harness.turn(async () => {}, [
      () => reply.call('react.checkout', { mode: 'replace', paths: [`fi:${turnId}.files/app`] }),
      () => reply.call('react.pull', { paths: [`fi:${turnId}.files`] }),
    ])
    expect(JSON.parse(results[0]?.[0] ?? '')).toMatchObject({ materialized: { tree: ['app/closed', 'app/file', 'app/honest.txt'] } })
    await expectNoHarm(harness, planted, before)
    expect(JSON.stringify(harness.harness.model.requests)).not.toMatch(/evil|zero.?width/)
  })

  it('an earlier turn whose files were replaced by links, pipes and devices is restored, or the tool reports an error', async () => {
    const harness = createAgentOnDisk(kind)
    const names = [...new Set((await probe()).things.map(({ path }) => path.slice('turn_1/files/'.length)))].filter(
      (name) => /^[\w./-]+$/.test(name) && !/\.git|\.\.|^\.?\/|\/$|n{256}|^(link-(in|dangling|folder|above|here)|pipe|file)$/i.test(name),
    )
    expect(names.length).toBeGreaterThan(15)
    const first = await harness.turn(
      async () => {},
      names.map((name) => () => write(`files/${name}`)),
    )
    let [planted, before] = [empty, {}]
    const old = join(harness.outDir, first.turnId, 'files')
    const hostile = async () => {
      expect(existsSync(old)).toBe(false) // the folder was removed, because the first turn has left a version
      planted = await plant(harness.outDir, `${first.turnId}/files`)
      before = planted.outside()
    }
    const ref = (name: string) => `fi:${first.turnId}.files/${name}`
    const { results, exitReason } = await harness.turn(hostile, [
      ...names.map((name) => () => reply.call('react.pull', { paths: [ref(name)] })),
      ...names.map((name) => () => reply.call('react.read', { paths: [ref(name)], line_numbers: 'lines' })),
      ...names.map((name) => () => patch(ref(name))),
      () => reply.call('react.pull', { paths: [ref('')] }),
      () => reply.call('react.checkout', { mode: 'replace', paths: [ref('')], force: true }),
    ])
    expect(exitReason).toBe('complete')
    expect(results.length).toBe(3 * names.length + 2)
    // the recorded content, not that of the hostile file
    for (const read of results.slice(names.length, 2 * names.length)) expect(read.join()).toContain('overwritten')
    expect(errorOf(results.at(-1))).toBeUndefined()
    await expectNoHarm(harness, planted, before)
  })

  it.each(['', '/files', '/outputs', '/attachments'])('no tool follows a link in place of <turn>%s', async (area) => {
    const harness = createAgentOnDisk(kind)
    const first = await harness.turn(async () => {}, [() => write('files/app/a.md')])
    const outside = mkdtempSync(join(tmpdir(), 'daybook-outside-'))
    outsides.push(outside)
    for (const name of ['files', 'outputs', 'attachments']) mkdirSync(join(outside, name))
    const hostile = async (turnId: string) => {
      for (const id of [turnId, first.turnId]) {
        const target = join(harness.outDir, `${id}${area}`)
        mkdirSync(join(target, '..'), { recursive: true })
        if (existsSync(target)) renameSync(target, join(mkdtempSync(join(root, 'aside-')), 'x'))
        symlinkSync(area === '' ? outside : join(outside, area), target)
      }
    }
    const { results } = await harness.turn(hostile, [
      () => write('files/a.md'),
      () => write('outputs/a.md'),
      () => patch('files/a.md'),
      () => reply.call('react.pull', { paths: [`fi:${first.turnId}.files/app`] }),
      () => reply.call('react.checkout', { mode: 'overlay', paths: [`fi:${first.turnId}.files/app`] }),
      () => reply.call('react.search_files', { root: 'files', pattern: 'x' }),
      (turnId) => reply.call('test.declare', { paths: [`${turnId}/files/a.md`, `${turnId}/outputs/a.md`] }),
    ])
    expect(results.length).toBe(7)
    expect(readdirSync(outside, { recursive: true }).sort()).toEqual(['attachments', 'files', 'outputs'])
  })
})

it('a ref: parameter gets the recorded content, not the content of a hostile file at its path', async () => {
  const folder = mkdtempSync(join(root, 'refs-'))
  const workspaces = createCustomWorkspaces({ ...foldersOnDisk(folder), blobs: createMemoryBlobs() })
  const workspace = await workspaces.open(localScope, 'c1')
  const planted = await plant(join(folder, 'local/default/local/c1/out/workdir'), 'turn_1/files')
  const before = planted.outside()
  const things = planted.things.filter(({ path, reads }) => reads !== undefined && unsafeReason(path) === undefined)
  expect(things.length).toBeGreaterThan(20)
  const written = things.map(({ path }) =>
    artifactContentBlock(at('k1', 'turn_1'), {
      path: logical('turn_1', path),
      text: 'as it was',
      mime: 'text/plain',
      digest: { artifact_path: logical('turn_1', path) },
    }),
  )
  const harness = await toolFixture(written, { workspace, turnId: 'turn_1' })
  const echo = defineTool({
    id: 'test.echo',
    description: 'Says it again.',
    params: z.object({ text: z.string() }),
    run: ({ text }) => text,
  })
  for (const { path } of things) {
    const outcome = await harness.run(withBoundReferences(echo), { text: `ref:${logical('turn_1', path)}` })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'protocol_violation.param_ref_not_visible' } })
    expect(JSON.stringify(outcome)).toMatch(/ref_file_unsafe/)
  }
  expect(planted.outside()).toEqual(before)
})

it('attachments are placed beside hostile files, never through them', async () => {
  const folder = mkdtempSync(join(root, 'attached-'))
  const blobs = createMemoryBlobs()
  const workspace = await createCustomWorkspaces({ ...foldersOnDisk(folder), blobs }).open(localScope, 'c1')
  const planted = await plant(join(folder, 'local/default/local/c1/out/workdir'), 'turn_1/attachments')
  const before = planted.outside()
  const blob = await blobs.put(Buffer.from('sent by the user'))
  for (const { path, writes } of planted.things.filter(({ path }) => unsafeReason(path) === undefined)) {
    const name = path.slice('turn_1/attachments/'.length)
    const attachment = { name, mime: 'text/plain', size_bytes: blob.size, blob }
    const timeline = timelineOf(attachmentBlocks('turn_1', minute(0), attachment))
    const placing = placeAttachments(workspace, timeline, 'turn_1', blobs)
    if (writes === undefined) await placing
    else await expect(placing).rejects.toMatchObject({ code: 'file.unsafe' })
  }
  expect(planted.outside()).toEqual(before)
})

let probed: Promise<HostilePlace> | undefined
/** Creates the hostile files once to get their names, which are the same in every folder. */
function probe(): Promise<HostilePlace> {
  probed ??= plant(mkdtempSync(join(root, 'probe-')), 'turn_1/files')
  return probed
}
