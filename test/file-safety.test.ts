import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createDiskFiles } from '../src/adapters/files/disk.ts'
import type { Files } from '../src/ports/files.ts'
import { plantHostileFiles } from '../src/testing/hostile-files.ts'

const outDir = mkdtempSync(join(tmpdir(), 'daybook-safety-'))
const files = createDiskFiles({ folder: outDir })
const place = await plantHostileFiles(outDir)
const before = place.outside()
afterAll(() => {
  for (const folder of [outDir, place.outsideFolder]) rmSync(folder, { recursive: true, force: true })
})

const bytes = (text: string) => new TextEncoder().encode(text)
const one = new Map([['a', bytes('x')]])

/** Every way to use a path. A new operation of the port does not compile until it is here. */
const uses: { readonly [Use in keyof Files]: readonly ['reads' | 'writes' | 'asFolder', (path: string) => Promise<unknown>] } = {
  read: ['reads', (path) => files.read(path)],
  stat: ['reads', (path) => files.stat(path)],
  write: ['writes', (path) => files.write(path, bytes('overwritten'))],
  remove: ['writes', (path) => files.remove(path)],
  list: ['asFolder', (path) => files.list(path)],
  replaceFolder: ['asFolder', (path) => files.replaceFolder(path, one)],
}

describe.each(Object.entries(uses))('%s', (use, [kind, run]) => {
  const refusing = place.things.filter((thing) => thing[kind] !== undefined && !(use === 'stat' && thing.reads === 'too_large'))
  it.each(refusing)('refuses $what, and nothing outside changes', async (thing) => {
    await expect(run(thing.path)).rejects.toMatchObject({ code: 'file.unsafe', details: { reason: thing[kind], path: thing.path } })
    expect(place.outside()).toEqual(before)
  })
})

it('tells no absolute path and nothing of what it refused', async () => {
  for (const { path } of place.things) {
    for (const [, run] of [uses.read, uses.list]) {
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
