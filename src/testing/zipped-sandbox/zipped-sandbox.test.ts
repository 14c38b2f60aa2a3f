import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { zip } from '../../../test/support/sample-files/zip.ts'
import { createBubblewrapSandbox, defaultLimits, findSandbox } from '../../adapters/sandbox/index.ts'
import type { Sandbox } from '../../ports/sandbox.ts'
import { describeSandbox } from '../conformance/sandbox.ts'
import { openSandboxFixture } from '../conformance/sandbox-programs.ts'
import { writeZip } from './write-zip.ts'
import { mergeChanges, zippedSandbox } from './zipped-sandbox.ts'

const found = await findSandbox()
describe.skipIf(found.sandbox === undefined)('a sandbox behind ZIP archives', () => {
  const create = async () => zippedSandbox(createBubblewrapSandbox({ languages: found.sandbox?.languages ?? [], graceMs: 1_000 }))
  describeSandbox({ describe, it, expect }, 'zippedSandbox', create)

  it('brings back new, changed and removed files, and leaves out links and pipes', async () => {
    const { run, write, read, folder, remove } = await openSandboxFixture(await create())
    for (const name of ['kept', 'changed', 'removed', 'old/gone']) await write(`out/turn_2/files/${name}`, name)
    await write('work/w', 'w')
    const code = `
import os, shutil
open("files/new", "w").write("new")
open("files/changed", "a").write("!")
os.remove("files/removed")
shutil.rmtree("files/old")
os.makedirs("files/a/b")
os.symlink("/etc/passwd", "files/link")
os.mkfifo("files/pipe")
(WORKDIR / "w").write_text("W")`
    expect((await run('python', code)).end).toEqual({ kind: 'exited', exitCode: 0 })
    expect(readdirSync(join(folder, 'out/turn_2/files'), { recursive: true }).sort()).toEqual(['a', 'a/b', 'changed', 'kept', 'new'])
    expect([await read('out/turn_2/files/changed'), await read('work/w')]).toEqual(['changed!', 'W'])
    await remove()
  })
})

describe('an archive that comes back from another machine', () => {
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
  const limits = { ...defaultLimits, fileBytes: 10_000, newBytes: 15_000, newFiles: 20 }
  const sandbox = { limits } as Sandbox

  function machine() {
    const folder = mkdtempSync(join(tmpdir(), 'daybook-merge-'))
    folders.push(folder)
    for (const name of ['out/turn_1', 'out/turn_2/files', 'out/turn_2/attachments', 'work'])
      mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, 'out/turn_1/a.txt'), 'earlier')
    symlinkSync('/etc', join(folder, 'out/turn_2/files/etc'))
    const list = () => readdirSync(folder, { recursive: true }).sort()
    const merge = (archive: Uint8Array) =>
      mergeChanges(archive, { out: join(folder, 'out'), turn: 'turn_2', work: join(folder, 'work'), context: {} }, sandbox)
    return { folder, list, merge }
  }
  const good = { name: 'out/turn_2/files/ok.txt', content: 'ok' }
  /** An archive whose last file has another type than usual. */
  const withType = (name: string, mode: number) => {
    const archive = writeZip([{ name, content: Buffer.from('/etc/passwd') }])
    archive.writeUInt32LE((mode << 16) >>> 0, archive.lastIndexOf('PK\x01\x02') + 38)
    return archive
  }
  const damaged = () => {
    const archive = writeZip([{ name: good.name, content: Buffer.from('x'.repeat(500)) }])
    archive.writeUInt32LE(1, archive.lastIndexOf('PK\x01\x02') + 16)
    return archive
  }

  it('is merged if all is well', async () => {
    const { merge, folder } = machine()
    expect(await merge(zip([good, { name: 'work/new/', content: '' }, { name: 'work/w', content: 'w' }]))).toBeUndefined()
    expect([readFileSync(join(folder, good.name), 'utf8'), readFileSync(join(folder, 'work/w'), 'utf8')]).toEqual(['ok', 'w'])
    expect(readdirSync(join(folder, 'work'))).toContain('new')
  })

  it.each<[string, () => Uint8Array, string]>([
    ['is no archive', () => Buffer.from('PK'), 'damaged'],
    ['leads up', () => zip([good, { name: 'work/../../x', content: 'x' }]), '".." segment'],
    ['leads up from the turn', () => zip([good, { name: 'out/turn_2/../turn_1/a.txt', content: 'x' }]), '".." segment'],
    ['is absolute', () => zip([good, { name: '/etc/cron.d/x', content: 'x' }]), 'is absolute'],
    ['has a backslash', () => zip([good, { name: 'work\\..\\x', content: 'x' }]), 'backslash'],
    ['has a null byte', () => zip([good, { name: 'work/x\0', content: 'x' }]), 'control'],
    ['changes an earlier turn', () => zip([good, { name: 'out/turn_1/a.txt', content: 'x' }]), 'may not change'],
    ['makes a new turn', () => zip([good, { name: 'out/turn_3/a.txt', content: 'x' }]), 'may not change'],
    ['changes the attachments', () => zip([good, { name: 'out/turn_2/attachments/a', content: 'x' }]), 'may not change'],
    ['changes the timeline', () => zip([good, { name: 'context/timeline.json', content: 'x' }]), 'may not change'],
    ['removes an earlier turn', () => zip([good, { name: 'removed.json', content: '["out/turn_1/a.txt"]' }]), 'may not change'],
    ['removes what is no path', () => zip([good, { name: 'removed.json', content: '[1]' }]), 'not a list of paths'],
    ['has a file twice', () => zip([good, good]), 'two entries'],
    ['has a link', () => withType('work/link', 0o120777), 'link or a special file'],
    ['has a device', () => withType('work/device', 0o60666), 'link or a special file'],
    ['has a pipe', () => withType('work/pipe', 0o10666), 'link or a special file'],
    ['has a large file', () => zip([good, { name: 'work/x', content: 'x'.repeat(10_001) }]), 'more than 10000 bytes'],
    ['has many bytes', () => zip([1, 2].map((n) => ({ name: `work/${n}`, content: 'x'.repeat(9_000) }))), 'more than 15000 bytes'],
    ['has many files', () => zip(Array.from({ length: 22 }, (_, n) => ({ name: `work/${n}`, content: '' }))), 'more than 20 entries'],
    ['says a smaller size', () => zip([{ name: 'work/x', content: 'x'.repeat(9_000), size: 10 }]), 'does not have the size'],
    ['says a larger size', () => zip([{ name: 'work/x', content: 'x', size: 9_000 }]), 'compressed too much'],
    ['is encrypted', () => zip([{ name: 'work/x', content: 'x', flags: 1 }]), 'is encrypted'],
    ['has a wrong checksum', damaged, 'is damaged'],
    ['writes through a link', () => zip([{ name: 'out/turn_2/files/etc/daybook', content: 'x' }]), 'rejected'],
  ])('is rejected, and nothing is written, if it %s', async (_, archive, reason) => {
    const { merge, list, folder } = machine()
    const before = list()
    expect(await merge(archive())).toContain(reason)
    expect(list()).toEqual(before)
    expect(readFileSync(join(folder, 'out/turn_1/a.txt'), 'utf8')).toBe('earlier')
  })
})
