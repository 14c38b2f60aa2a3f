import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createDiskFiles } from '../../src/adapters/files/disk.ts'
import type { Files } from '../../src/ports/files.ts'
import { plantHostileFiles } from '../../src/testing/hostile-files.ts'
import { loadPortableFiles } from '../support/portable-files.ts'

const outDir = mkdtempSync(join(tmpdir(), 'daybook-safety-'))
const portable = await loadPortableFiles()
const disks = { 'the disk': createDiskFiles({ folder: outDir }), 'a disk without /proc': portable.createDiskFiles({ folder: outDir }) }
const files = disks['the disk']
const place = await plantHostileFiles(outDir)
const before = place.outside()
afterAll(() => {
  for (const folder of [outDir, place.outsideFolder]) rmSync(folder, { recursive: true, force: true })
})

const bytes = (text: string) => new TextEncoder().encode(text)
const one = new Map([['a', bytes('x')]])

/** Every way to use a path. A new operation of the port does not compile until it is here. */
type Uses = { readonly [Use in keyof Files]: readonly ['reads' | 'writes' | 'asFolder', (path: string) => Promise<unknown>] }
const usesOf = (disk: Files): Uses => ({
  read: ['reads', (path) => disk.read(path)],
  stat: ['reads', (path) => disk.stat(path)],
  write: ['writes', (path) => disk.write(path, bytes('overwritten'))],
  remove: ['writes', (path) => disk.remove(path)],
  list: ['asFolder', (path) => disk.list(path)],
  replaceFolder: ['asFolder', (path) => disk.replaceFolder(path, one)],
})

const table = Object.entries(disks).flatMap(([name, disk]) =>
  Object.entries(usesOf(disk)).map(([use, [kind, run]]) => ({ name, use, kind, run })),
)

describe.each(table)('$name: $use', ({ use, kind, run }) => {
  const refusing = place.things.filter((thing) => thing[kind] !== undefined && !(use === 'stat' && thing.reads === 'too_large'))
  it.each(refusing)('refuses $what, and nothing outside changes', async (thing) => {
    await expect(run(thing.path)).rejects.toMatchObject({ code: 'file.unsafe', details: { reason: thing[kind], path: thing.path } })
    expect(place.outside()).toEqual(before)
  })
})

it('tells no absolute path and nothing of what it refused', async () => {
  for (const { path } of place.things) {
    for (const [, run] of [usesOf(files).read, usesOf(files).list]) {
      const message = await run(path).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(message).not.toContain(outDir)
      expect(message).not.toContain(place.outsideFolder)
      expect(message).not.toContain(place.secret)
    }
  }
})

it('lists honest files and passes over everything else', async () => {
  const { files: listed } = await files.list('')
  expect(listed.map(({ path }) => path)).toEqual(['closed', 'file', 'honest.txt', 'sparse'].map((name) => `turn_1/files/${name}`))
})

it('replaces a folder full of hostile things without following any of them', async () => {
  const other = mkdtempSync(join(tmpdir(), 'daybook-safety-'))
  const hostile = await plantHostileFiles(other, 'turn_1/files/app')
  const was = hostile.outside()
  const target = createDiskFiles({ folder: other })
  await target.replaceFolder('turn_1/files/app', one)
  expect((await target.list('')).files.map(({ path }) => path)).toEqual(['turn_1/files/app/a'])
  expect(hostile.outside()).toEqual(was)
  for (const folder of [other, hostile.outsideFolder]) rmSync(folder, { recursive: true, force: true })
})
