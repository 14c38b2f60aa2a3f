import { describe, expect, it } from 'vitest'
import { afterEarlierTurns } from '../../../test/support/earlier-turns.ts'
import { artifactContentBlock, type Draft, type Meta } from '../../core/block/index.ts'
import { blockOrigin } from '../../testing/blocks.ts'
import { createPullTool } from './pull.ts'

const pullTool = createPullTool()

const turns = { turn_o: { 'app/a.ts': 'a', 'app/deep/b.ts': 'bb', 'notes/n.md': 'n' } }

const recorded = (path: string, text: string, meta: Meta = {}): Draft =>
  artifactContentBlock(blockOrigin('k1', 'turn_o'), { path, mime: 'text/markdown', digest: { artifact_path: path }, text, meta })

const fixture = () =>
  afterEarlierTurns(turns, async (blobs) => [
    recorded('fi:turn_o.outputs/reports/q1.md', 'report'),
    recorded('fi:turn_o.outputs/preview.md', 'only the beg', { partial: true }),
    {
      ...recorded('fi:turn_o.user.attachments/photo.png', ''),
      text: undefined as never,
      mime: 'image/png',
      blob: await blobs.put(Buffer.from('photo')),
    },
  ])

describe('react.pull', () => {
  it('reports the paths beyond the limit of one call', async () => {
    const { run } = await fixture()
    const paths = [...Array.from({ length: 50 }, (_, n) => `fi:turn_o.files/none/${n}`), 'fi:turn_o.files/app/a.ts']
    const { output } = await run(pullTool, { paths })
    expect(output).toMatchObject({ invalid: [{ path: 'fi:turn_o.files/app/a.ts', reason: 'too_many_paths_in_one_call' }] })
  })

  it('pulls one file and returns its paths, type and size', async () => {
    const { run, read } = await fixture()
    const { ok, output } = await run(pullTool, { paths: ['fi:turn_o.files/app/a.ts'] })
    expect([ok, output]).toEqual([
      true,
      {
        requested: ['fi:turn_o.files/app/a.ts'],
        pulled: [
          {
            logical_path: 'fi:turn_o.files/app/a.ts',
            physical_path: 'turn_o/files/app/a.ts',
            file_count: 1,
            mime: 'text/plain',
            size_bytes: 1,
          },
        ],
      },
    ])
    expect(await read('turn_o/files/app/a.ts')).toBe('a')
    expect(await read('turn_o/files/notes/n.md')).toBe(undefined)
  })

  it('pulls a folder, or all of files/, and returns a tree', async () => {
    const { run, read } = await fixture()
    for (const path of ['fi:turn_o.files/app', 'fi:turn_o.files/app/']) {
      const { output } = await run(pullTool, { paths: [path] })
      expect(output).toMatchObject({
        pulled: [
          {
            logical_root: 'fi:turn_o.files/app/',
            physical_root: 'turn_o/files/app/',
            file_count: 2,
            tree: ['a.ts', 'deep/b.ts'],
            tree_truncated: false,
            omitted_files: 0,
            path_rule: { logical: 'fi:turn_o.files/app/<path>', physical: 'turn_o/files/app/<path>' },
          },
        ],
      })
    }
    for (const path of ['fi:turn_o.files', 'fi:turn_o.files/']) {
      expect((await run(pullTool, { paths: path })).output).toMatchObject({ pulled: [{ logical_root: 'fi:turn_o.files/', file_count: 3 }] })
    }
    expect(await read('turn_o/files/notes/n.md')).toBe('n')
  })

  it('shows 80 files of a tree and the number of the others', async () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`app/${n}`, 'x']))
    const { run } = await afterEarlierTurns({ turn_o: many })
    const { output } = await run(pullTool, { paths: ['fi:turn_o.files'] })
    const [row] = (output as { pulled: { tree: string[]; tree_truncated: boolean; omitted_files: number; file_count: number }[] }).pulled
    expect([row?.tree.length, row?.tree_truncated, row?.omitted_files, row?.file_count]).toEqual([80, true, 20, 100])
  })

  it('tools 18.52: refuses a folder of outputs', async () => {
    const { run } = await fixture()
    for (const path of ['fi:turn_o.outputs/reports', 'fi:turn_o.outputs/reports/', 'fi:turn_o.outputs', 'fi:turn_o.outputs/']) {
      const { ok, error, output, notices } = await run(pullTool, { paths: [path] })
      expect([ok, error?.code, notices?.[0]?.code]).toEqual([false, 'pull_nothing_resolved', 'pull_nothing_resolved'])
      expect(output).toMatchObject({ pulled: [], invalid: [{ path, reason: 'output_pulls_require_exact_file_ref' }] })
    }
    expect((await run(pullTool, { paths: ['fi:turn_o.outputs/reports/q1.md'] })).ok).toBe(true)
  })

  it('tools 18.53: pulls an attachment by its exact name only', async () => {
    const { run, read } = await fixture()
    for (const path of ['fi:turn_o.user.attachments/', 'fi:turn_o.user.attachments']) {
      const { output } = await run(pullTool, { paths: [path] })
      expect(output).toMatchObject({ invalid: [{ path, reason: 'attachment_pulls_require_exact_file_ref' }] })
    }
    expect((await run(pullTool, { paths: ['fi:turn_o.user.attachments/photo.png'] })).ok).toBe(true)
    expect(await read('turn_o/attachments/photo.png')).toBe('photo')
  })

  it('tools 18.55: reports a file as missing when only a preview of it is recorded', async () => {
    const { run, read } = await fixture()
    const { ok, output } = await run(pullTool, { paths: ['fi:turn_o.outputs/preview.md'] })
    expect([ok, output]).toMatchObject([false, { missing: ['fi:turn_o.outputs/preview.md'] }])
    expect(await read('turn_o/outputs/preview.md')).toBe(undefined)
  })

  it('tools 18.56: pulled files are read-only', async () => {
    const { run, workspace } = await fixture()
    await run(pullTool, { paths: ['fi:turn_o.files', 'fi:turn_o.outputs/reports/q1.md'] })
    for (const path of ['turn_o/files/app/a.ts', 'turn_o/files/app/deep/b.ts', 'turn_o/outputs/reports/q1.md']) {
      await expect(workspace.files.write(path, Buffer.from('x'))).rejects.toMatchObject({ details: { reason: 'read_only' } })
      await expect(workspace.files.remove(path)).rejects.toMatchObject({ details: { reason: 'read_only' } })
    }
  })

  it('does not change files/ of the current turn', async () => {
    const { run, workspace, read } = await fixture()
    await workspace.files.write('turn_c/files/app/a.ts', Buffer.from('mine'))
    await run(pullTool, { paths: ['fi:turn_o.files'] })
    expect(await read('turn_c/files/app/a.ts')).toBe('mine')
    expect((await workspace.files.list('turn_c/files')).files.length).toBe(1)
  })

  it('pulls the other files when some are missing, without a notice, and pulls duplicates once', async () => {
    const { run } = await fixture()
    const paths = [
      'fi:turn_o.files/app/a.ts',
      'fi:turn_o.files/app/a.ts',
      'conv:fi:turn_o.files/app/a.ts',
      'fi:turn_o.files/no',
      'so:sources_pool[1]',
    ]
    const { ok, output, notices } = await run(pullTool, { paths: [...paths, 'fi:turn_o', 'turn_o/files/app/a.ts', 'fi:turn_o.files/../x'] })
    expect([ok, notices]).toEqual([true, undefined])
    expect(output).toMatchObject({
      requested: expect.any(Array),
      pulled: [{ logical_path: 'fi:turn_o.files/app/a.ts' }],
      missing: ['fi:turn_o.files/no'],
      invalid: [
        { path: 'so:sources_pool[1]', reason: 'react.pull accepts fi: refs' },
        { path: 'fi:turn_o', reason: 'unresolvable_fi_ref' },
        { path: 'turn_o/files/app/a.ts', reason: 'react.pull accepts fi: refs' },
        { path: 'fi:turn_o.files/../x', reason: 'unresolvable_fi_ref' },
      ],
    })
    expect((output as { pulled: unknown[] }).pulled.length).toBe(1)
  })

  it('reports a missing turn, a missing file and another conversation', async () => {
    const { run } = await fixture()
    const { output } = await run(pullTool, { paths: ['fi:turn_x.files', 'fi:turn_o.files/nope', 'fi:conv_c2.turn_o.files/app/a.ts'] })
    expect(output).toMatchObject({
      missing: ['fi:turn_x.files', 'fi:turn_o.files/nope'],
      invalid: [{ path: 'fi:conv_c2.turn_o.files/app/a.ts', reason: 'in_another_conversation' }],
    })
  })

  it('accepts a path with the id of this conversation, and pulls it once', async () => {
    const { run } = await fixture()
    const short = (await run(pullTool, { paths: ['fi:turn_o.files/app/a.ts'] })).output as { pulled: unknown }
    const { output } = await run(pullTool, { paths: ['fi:conv_c1.turn_o.files/app/a.ts', 'fi:turn_o.files/app/a.ts'] })
    expect(output).toMatchObject({ pulled: short.pulled })
    expect(output).not.toHaveProperty('invalid')
  })

  it('fails when the content of one file of a folder is lost', async () => {
    const { run, blobs } = await fixture()
    const { createHash } = await import('node:crypto')
    await blobs.remove(createHash('sha256').update('a').digest('hex'))
    const { ok, error, output } = await run(pullTool, { paths: ['fi:turn_o.files/app', 'fi:turn_o.files/notes'] })
    expect([ok, error?.code]).toEqual([false, 'workspace_version_unavailable'])
    expect(output).toMatchObject({
      pulled: [{ logical_root: 'fi:turn_o.files/notes/' }],
      errors: [{ path: 'fi:turn_o.files/app', code: 'workspace_version_unavailable', message: expect.stringContaining('app/a.ts') }],
    })
  })
})
