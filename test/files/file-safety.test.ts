import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createDiskFiles } from '../../src/adapters/files/disk.ts'
import type { Files } from '../../src/ports/files.ts'
import { type HostileThing, plantHostileFiles } from '../../src/testing/hostile-files.ts'
import { loadPortableFiles } from '../support/portable-files.ts'

const outDir = mkdtempSync(join(tmpdir(), 'daybook-safety-'))
const portable = await loadPortableFiles()
const disks = { 'the disk': createDiskFiles({ folder: outDir }), 'a disk without /proc': portable.createDiskFiles({ folder: outDir }) }
const files = disks['the disk']
const planted = await plantHostileFiles(outDir)
const before = planted.outside()
afterAll(() => {
  for (const folder of [outDir, planted.outsideFolder]) rmSync(folder, { recursive: true, force: true })
})

const bytes = (text: string) => new TextEncoder().encode(text)
const oneFile = new Map([['a', bytes('x')]])

/** Every operation of the port `Files`. A new operation does not compile until it is listed here. */
type Operations = { readonly [Name in keyof Files]: readonly ['reads' | 'writes' | 'asFolder', (path: string) => Promise<unknown>] }
const operationsOf = (disk: Files): Operations => ({
  read: ['reads', (path) => disk.read(path)],
  stat: ['reads', (path) => disk.stat(path)],
  write: ['writes', (path) => disk.write(path, bytes('overwritten'))],
  remove: ['writes', (path) => disk.remove(path)],
  list: ['asFolder', (path) => disk.list(path)],
  replaceFolder: ['asFolder', (path) => disk.replaceFolder(path, oneFile)],
})

const table = Object.entries(disks).flatMap(([name, disk]) =>
  Object.entries(operationsOf(disk)).map(([use, [kind, run]]) => ({ name, use, kind, run })),
)

describe.each(table)('$name: $use', ({ use, kind, run }) => {
  const rejected = planted.things.filter((thing) => thing[kind] !== undefined && !(use === 'stat' && thing.reads === 'too_large'))
  it.each(rejected)('rejects $what, and nothing outside changes', async (thing) => {
    await expect(run(thing.path)).rejects.toMatchObject({ code: 'file.unsafe', details: { reason: thing[kind], path: thing.path } })
    expect(planted.outside()).toEqual(before)
  })
})

it('errors contain no absolute path and no content of a rejected file', async () => {
  let errors = 0
  for (const { path } of planted.things) {
    for (const [, run] of [operationsOf(files).read, operationsOf(files).list]) {
      const message = await run(path).then(
        () => '',
        (error: Error) => error.message,
      )
      if (message !== '') errors++
      expect(message).not.toContain(outDir)
      expect(message).not.toContain(planted.outsideFolder)
      expect(message).not.toContain(planted.secret)
    }
  }
  expect(errors).toBeGreaterThan(planted.things.length)
})

it('lists regular files and skips everything else', async () => {
  const { files: listed } = await files.list('')
  expect(listed.map(({ path }) => path)).toEqual(['closed', 'file', 'honest.txt', 'sparse'].map((name) => `turn_1/files/${name}`))
})

describe.each(Object.entries(disks))('%s: list', (_, disk) => {
  it('names everything that it skips, with the reason that every other operation gives, in the order of the paths', async () => {
    const names = new Set(readdirSync(join(outDir, 'turn_1/files')).map((name) => `turn_1/files/${name}`))
    const isSkipped = ({ path, reads, asFolder }: HostileThing) =>
      names.has(path) && asFolder !== undefined && reads !== undefined && reads !== 'too_large'
    const gitFolders = ['.git', '.GIT', '.Git.'].map((name) => ({ path: `turn_1/files/${name}`, reason: 'unsafe_path' }))
    const expected = [...planted.things.filter(isSkipped).map(({ path, reads: reason }) => ({ path, reason })), ...gitFolders]
    const { skipped } = await disk.list('turn_1/files', { dotEntries: true })
    expect(expected.length).toBeGreaterThan(15)
    expect(skipped).toEqual(expected.sort((a, b) => (a.path < b.path ? -1 : 1)))
    const isHardLink = ({ reason }: { reason: string | undefined }) => reason === 'hard_link_blocked'
    const quick = await disk.list('turn_1/files', { limit: 0, dotEntries: true })
    expect(quick).toEqual({ files: [], truncated: true, skipped: skipped.filter((entry) => !isHardLink(entry)) })
  })

  it('names at most 1,000 skipped entries', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'daybook-safety-'))
    for (let n = 0; n < 1_010; n++) symlinkSync('nowhere', join(folder, `link-${n}`))
    expect((await createDiskFiles({ folder }).list('')).skipped.length).toBe(1_000)
    rmSync(folder, { recursive: true })
  })
})

it('replaces a folder of links, pipes and devices without following any of them', async () => {
  const other = mkdtempSync(join(tmpdir(), 'daybook-safety-'))
  const hostile = await plantHostileFiles(other, 'turn_1/files/app')
  const outsideBefore = hostile.outside()
  const target = createDiskFiles({ folder: other })
  await target.replaceFolder('turn_1/files/app', oneFile)
  expect((await target.list('')).files.map(({ path }) => path)).toEqual(['turn_1/files/app/a'])
  expect(hostile.outside()).toEqual(outsideBefore)
  for (const folder of [other, hostile.outsideFolder]) rmSync(folder, { recursive: true, force: true })
})
