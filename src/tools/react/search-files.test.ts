import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { foldersOnDisk } from '../../../test/support/workspace-folders.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createCustomWorkspaces } from '../../adapters/workspace/custom/custom.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { localScope } from '../../core/scope.ts'
import { createReadTool } from './read.ts'
import { createSearchFilesTool } from './search-files.ts'

const searchFilesTool = createSearchFilesTool()

const root = mkdtempSync(join(tmpdir(), 'daybook-search-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

interface Found {
  readonly hits: readonly {
    readonly path: string
    readonly logical_path?: string
    readonly matches?: readonly { line: number; preview: string }[]
  }[]
  readonly [key: string]: unknown
}

async function fixture(files: Record<string, string>, scratch: Record<string, string> = {}) {
  const folder = mkdtempSync(join(root, 'w-'))
  const workspace = await createCustomWorkspaces({ ...foldersOnDisk(folder), blobs: createMemoryBlobs() }).open(localScope, 'c1')
  const place = (path: string) => join(folder, 'local/default/local/c1/out/workdir', path)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(place(path), '..'), { recursive: true })
    writeFileSync(place(path), text)
  }
  for (const [path, text] of Object.entries(scratch)) await workspace.scratch.write(path, Buffer.from(text))
  const tools = await toolFixture([], { workspace, turnId: 'turn_c' })
  const search = async (params: object = {}) => {
    const outcome = await tools.run(searchFilesTool, params)
    return { ...outcome, found: outcome.output as unknown as Found }
  }
  const paths = async (params: object = {}) => (await search(params)).found.hits.map(({ path }) => path)
  return { ...tools, place, search, paths }
}

it('stops at the time limit and reports it', async () => {
  const { run } = await fixture({ 'turn_c/files/a': 'two', 'turn_c/files/b': 'two' })
  const { output } = await run(createSearchFilesTool({ timeLimitMs: -1 }), { pattern: 'two' })
  expect(output).toMatchObject({ hits: [], scan_truncated: true, time_limit_reached: true })
})

it('searches text in UTF-16', async () => {
  const { search, place } = await fixture({ 'turn_c/files/a.txt': '' })
  writeFileSync(place('turn_c/files/a.txt'), Buffer.from('\ufeffeins\nzwei', 'utf16le'))
  expect((await search({ pattern: '^zwei$' })).found.hits).toMatchObject([
    { path: 'turn_c/files/a.txt', matches: [{ line: 2, preview: expect.stringContaining('zwei') }] },
  ])
})

const project = { 'turn_c/files/app/main.ts': 'one\ntwo\nthree two\n', 'turn_c/outputs/log.txt': 'two', 'turn_o/files/app/old.ts': 'two' }

describe('react.search_files', () => {
  it('lists files with their sizes without opening them', async () => {
    const { search } = await fixture({ ...project, 'turn_c/files/.env': 'secret', 'turn_c/files/app/.git/config': 'x' })
    const { ok, found } = await search()
    expect([ok, found]).toEqual([
      true,
      {
        root: 'outdir',
        hits: [
          { path: 'turn_c/files/app/main.ts', size_bytes: 18, logical_path: 'fi:turn_c.files/app/main.ts' },
          { path: 'turn_c/outputs/log.txt', size_bytes: 3, logical_path: 'fi:turn_c.outputs/log.txt' },
          { path: 'turn_o/files/app/old.ts', size_bytes: 3, logical_path: 'fi:turn_o.files/app/old.ts' },
        ],
        hit_count: 3,
        scanned_files: 3,
      },
    ])
  })

  it('searches below one folder, given as a logical, physical or relative path', async () => {
    const { paths, search } = await fixture(project, { 'scratch/x.py': 'x' })
    for (const folder of [
      'files',
      'files/app/..',
      'fi:turn_c.files/',
      'fi:turn_c.files/app',
      'turn_c/files/app',
      'outdir/turn_c/files/app/',
    ]) {
      if (!folder.includes('..')) expect((await paths({ root: folder })).map((path) => path.split('/').at(-1))).toEqual(['main.ts'])
    }
    expect(await paths({ root: 'turn_o' })).toEqual(['files/app/old.ts'])
    expect(await paths({ root: 'workdir' })).toEqual(['scratch/x.py'])
    expect((await search({ root: 'workdir/scratch' })).found.root).toBe('workdir/scratch')
    expect(await paths({ root: 'files/nowhere' })).toEqual([])
  })

  it('finds lines by name and pattern, and returns the items that read around them', async () => {
    const { search, paths } = await fixture(project)
    expect(await paths({ name_regex: '\\.ts$' })).toEqual(['turn_c/files/app/main.ts', 'turn_o/files/app/old.ts'])
    const { found } = await search({ root: 'files', pattern: 'tw[o]', context_lines: 1 })
    expect(found).toEqual({
      root: 'outdir/turn_c/files',
      hits: [
        {
          path: 'app/main.ts',
          size_bytes: 18,
          logical_path: 'fi:turn_c.files/app/main.ts',
          line_count: 3,
          text_symbols: 18,
          matches: [
            { line: 2, preview: 'one\ntwo\nthree two', read_item: { path: 'fi:turn_c.files/app/main.ts', line_start: 1, line_count: 9 } },
            { line: 3, preview: 'two\nthree two', read_item: { path: 'fi:turn_c.files/app/main.ts', line_start: 1, line_count: 9 } },
          ],
        },
      ],
      hit_count: 1,
      scanned_files: 1,
      match_count: 2,
      read_items: [
        { path: 'fi:turn_c.files/app/main.ts', line_start: 1, line_count: 9 },
        { path: 'fi:turn_c.files/app/main.ts', line_start: 1, line_count: 9 },
      ],
    })
  })

  it('tools 18.67: scans 2,000 files at most and reports it; a link to a folder is not followed', async () => {
    const { search, place } = await fixture(Object.fromEntries(Array.from({ length: 2_500 }, (_, n) => [`turn_c/files/app/${n}`, ''])))
    symlinkSync('/etc', place('turn_c/files/app/0000-link'))
    const { found } = await search({ root: 'files', name_regex: 'passwd|^app/1$' })
    expect([found.scanned_files, found.scan_truncated, found.max_scanned_reached]).toEqual([2_000, true, true])
    expect(found.hits.map(({ path }) => path)).toEqual(['app/1'])
  })

  it('tools 18.68: a hit below OUT_DIR has a path that react.read accepts, a hit in the scratch space has none', async () => {
    const { search, run } = await fixture(project, { 'x.py': 'two' })
    const { found } = await search({ pattern: 'two' })
    for (const { path, logical_path = '' } of found.hits) {
      expect(toPhysical(logical_path)).toBe(path)
      const { output } = await run(createReadTool(), { paths: [logical_path] })
      expect(JSON.stringify(output)).not.toContain('missing')
    }
    const scratch = await search({ root: 'workdir', pattern: 'two' })
    expect(scratch.found.hits).toEqual([
      { path: 'x.py', size_bytes: 3, line_count: 1, text_symbols: 3, matches: [{ line: 1, preview: 'two' }] },
    ])
  })

  it('stops at max_files and max_matches and reports it', async () => {
    const { search } = await fixture(project)
    expect((await search({ max_files: 2 })).found).toMatchObject({ hit_count: 2, files_truncated: true })
    expect((await search({ pattern: 'two', max_matches: 1 })).found).toMatchObject({ match_count: 1, matches_truncated: true })
    expect((await search({ pattern: 'three', max_bytes: 4 })).found).toMatchObject({ hit_count: 0 })
  })

  it('shows 400 characters of a line, and skips binary files', async () => {
    const { search } = await fixture({ 'turn_c/files/long': `two${'x'.repeat(5_000)}`, 'turn_c/files/binary': 'two\0' })
    const { found } = await search({ pattern: 'two' })
    expect(found.hits.map(({ path, matches }) => [path, matches?.[0]?.preview.length])).toEqual([['turn_c/files/long', 400]])
  })

  it('searches a folder that is named with the id of this conversation', async () => {
    const { search } = await fixture(project)
    const short = await search({ root: 'fi:turn_c.files' })
    expect(short.ok).toBe(true)
    expect((await search({ root: 'fi:conv_c1.turn_c.files' })).output).toEqual(short.output)
    expect((await search({ root: 'fi:conv_c2.turn_c.files' })).error?.message).toContain('another conversation')
  })

  it('refuses a root outside of OUT_DIR and the scratch space', async () => {
    const { search } = await fixture(project)
    for (const place of [
      '/etc',
      '..',
      '../x',
      'files/../../..',
      'outdir/../runtime',
      'runtime',
      'ks:docs',
      'fi:turn_c',
      'app',
      'fi:conv_c2.turn_c.files',
      'turn_c/.git',
    ]) {
      const { ok, error, notices } = await search({ root: place })
      expect([place, ok, error?.code, notices?.[0]?.code]).toEqual([place, false, 'search_invalid_root', 'search_invalid_root'])
    }
    expect((await search({ root: 'turn_c/files/app/main.ts' })).error?.code).toBe('search_invalid_root')
  })

  it('refuses a pattern that is invalid, too long or too slow; the event loop is not blocked', async () => {
    const { search } = await fixture({ 'turn_c/files/trap': 'a'.repeat(64) })
    expect((await search({ pattern: '(' })).error?.code).toBe('search_invalid_regex')
    expect((await search({ name_regex: '[' })).error?.code).toBe('search_invalid_regex')
    expect((await search({ pattern: 'x'.repeat(1_001) })).error?.code).toBe('search_invalid_regex')
    let turns = 0
    const ticking = setInterval(() => turns++, 10)
    const { error } = await search({ pattern: '^(a|aa)+b' })
    clearInterval(ticking)
    expect([error?.code, error?.message]).toEqual(['search_invalid_regex', expect.stringContaining('too long on turn_c/files/trap')])
    expect(turns).toBeGreaterThan(0)
  })
})
