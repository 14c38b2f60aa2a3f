import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { png } from '../../../test/support/sample-files/images.ts'
import { tar } from '../../../test/support/sample-files/tar.ts'
import { zip } from '../../../test/support/sample-files/zip.ts'
import { createDiskFiles } from '../../adapters/files/disk.ts'
import { checkFile } from './check-file.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-check-file-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const files = createDiskFiles({ folder: root })

async function check(name: string, content: string | Uint8Array, maxBytes = 1_000_000) {
  writeFileSync(join(root, name), content)
  return codeOf(name, maxBytes)
}

async function codeOf(name: string, maxBytes = 1_000_000) {
  const checked = await checkFile(files, name, maxBytes)
  return checked.ok ? 'ok' : checked.problem.code
}

describe('a file of a program', () => {
  it.each([
    ['a.txt', 'a'],
    ['a.json', '{}'],
    ['a.png', png()],
    ['a.xlsx', zip([{ name: 'xl/workbook.xml', content: '<sheets><sheet name="a"/></sheets>' }])],
    ['no-extension', 'a'],
  ])('%s is accepted', async (name, content) => expect(await check(name, content)).toBe('ok'))

  it('is refused if it is missing, empty or too large', async () => {
    expect(await codeOf('missing.txt')).toBe('missing_file')
    expect(await check('empty.txt', '')).toBe('empty_file')
    expect(await check('large.txt', '1234', 3)).toBe('file_size_limit')
    expect(await codeOf('large.txt/inside.txt')).toBe('missing_file')
  })

  it('is refused if it is a link, below a link, a second name of another file, a folder or a pipe', async () => {
    writeFileSync(join(root, 'secret.txt'), 'secret')
    symlinkSync('/etc/passwd', join(root, 'link.txt'))
    symlinkSync('/etc', join(root, 'linked'))
    linkSync(join(root, 'secret.txt'), join(root, 'hard.txt'))
    mkdirSync(join(root, 'folder.txt'))
    execFileSync('mkfifo', [join(root, 'pipe.txt')])
    const names = ['link.txt', 'linked/passwd', 'hard.txt', 'folder.txt', 'pipe.txt']
    expect(await Promise.all(names.map((name) => codeOf(name)))).toEqual([
      'artifact_symlink_blocked',
      'artifact_path_escape_blocked',
      'artifact_hard_link_blocked',
      'artifact_not_regular_file',
      'artifact_not_regular_file',
    ])
  })

  it.runIf(process.getuid?.() !== 0)('is refused if the program has taken away the permission to read it', async () => {
    writeFileSync(join(root, 'closed.txt'), 'x')
    chmodSync(join(root, 'closed.txt'), 0)
    expect(await codeOf('closed.txt')).toBe('artifact_unreadable')
  })

  it('is read once: while it is replaced again and again by a link, it is refused or read, and never leads to another file', async () => {
    const [good, link, target] = [join(root, 'good'), join(root, 'link'), join(root, 'swapped.txt')]
    writeFileSync(join(root, 'private'), 'private')
    writeFileSync(target, 'good')
    let swaps = 0
    const swap = setInterval(() => {
      if (++swaps % 2 === 0) writeFileSync(good, 'good')
      else symlinkSync(join(root, 'private'), link)
      renameSync(swaps % 2 === 0 ? good : link, target)
    }, 0)
    const found = new Set<string>()
    while (swaps < 200) {
      const checked = await checkFile(files, 'swapped.txt', 1_000)
      found.add(checked.ok ? Buffer.from(checked.bytes).toString() : checked.problem.code)
      await nextTurn()
    }
    clearInterval(swap)
    expect([...found].sort()).toEqual(['artifact_symlink_blocked', 'good'])
  })

  it.each([
    ['a.json', '{"a":'],
    ['b.pdf', 'text'],
    ['c.png', 'text'],
    ['d.xlsx', 'text'],
    ['e.zip', 'text'],
  ])('%s is refused if its content does not fit its name', async (name, content) => {
    expect(await check(`wrong-${name}`, content)).toBe('artifact_invalid')
  })
})

describe('an archive of a program', () => {
  const entry = (name: string) => [{ name, content: 'x' }]

  it('is accepted if all its entries stay inside', async () => {
    expect(await check('good.zip', zip([...entry('a.txt'), ...entry('b/c.txt'), ...entry('etc.txt'), ...entry('logs/mine.log')]))).toBe(
      'ok',
    )
    expect(await check('good.tar', tar([{ name: 'a.txt' }, { name: 'b/', type: '5' }, { name: 'b/l', type: '2', link: 'c' }]))).toBe('ok')
    expect(await check('good.tar.gz', gzipSync(tar([{ name: 'a.txt', content: 'x'.repeat(2_000) }])))).toBe('ok')
    expect(await check('rows.csv.gz', gzipSync('a,b\n'.repeat(1_000)))).toBe('ok')
  })

  it.each([
    '../x',
    'a/../../x',
    '/etc/passwd',
    'C:\\x',
    '..\\x',
    'timeline.json',
    './sources_pool.json',
    'logs/infra.log',
    'proc/1/environ',
    'executed_programs/a/main.py',
  ])('tools 18.79: with the entry %s is refused, as zip and as tar, whatever its name is', async (name) => {
    const code = 'artifact_internal_path_blocked'
    expect(await check('bad.zip', zip([...entry('a.txt'), ...entry(name)]))).toBe(code)
    expect(await check('bad.dat', zip(entry(name), { before: Buffer.from('GIF89a') }))).toBe(code)
    expect(await check('bad.tar', tar([{ name: 'a.txt' }, { name }]))).toBe(code)
    expect(await check('bad.tgz', gzipSync(tar([{ name }])))).toBe(code)
    expect(await check('bad.bin', gzipSync(tar([{ name }])))).toBe(code)
  })

  it('is refused with links that lead out, with devices, and with two names for one entry', async () => {
    const code = 'artifact_internal_path_blocked'
    expect(await check('l.tar', tar([{ name: 'a', type: '2', link: '/etc/passwd' }]))).toBe(code)
    expect(await check('h.tar', tar([{ name: 'a', type: '1', link: '../x' }]))).toBe(code)
    expect(await check('d.tar', tar([{ name: 'a', type: '3' }]))).toBe(code)
    expect(await check('long.tar', tar([{ name: 'short', longName: `${'a/'.repeat(100)}../../x` }]))).toBe(code)
    expect(await check('pax.tar', tar([{ name: 'short', paxPath: '../x' }]))).toBe(code)
    const renamed = zip(entry('aa/x'))
    expect(
      await check(
        'two.zip',
        renamed.map((byte, at) => (at === 30 || at === 31 ? 46 : byte)),
      ),
    ).toBe(code)
    const linked = Buffer.from(zip(entry('a')))
    linked.writeUInt16LE(0o120777, linked.indexOf('PK\x01\x02') + 40)
    expect(await check('link.zip', linked)).toBe(code)
  })

  it('is refused if it is empty, damaged, or of a kind that can not be checked', async () => {
    expect(await check('empty.zip', zip([]))).toBe('artifact_invalid')
    expect(await check('empty.tar', Buffer.alloc(10_240))).toBe('artifact_invalid')
    expect(await check('cut.tar', tar([{ name: 'a', content: 'x'.repeat(5_000) }]).subarray(0, 1_024))).toBe('artifact_invalid')
    expect(await check('cut.tar.gz', gzipSync(tar([{ name: 'a', content: 'x' }])).subarray(0, 60))).toBe('artifact_invalid')
    expect(await check('a.7z', '7z\xbc\xaf')).toBe('artifact_invalid')
    expect(await check('text.tar', 'text')).toBe('artifact_invalid')
  })

  it('is read if the program tar or zip has made it', async () => {
    mkdirSync(join(root, 'real/deep'), { recursive: true })
    writeFileSync(join(root, `real/deep/${'n'.repeat(150)}.txt`), 'x')
    execFileSync('tar', ['-C', join(root, 'real'), '-czf', join(root, 'real.tar.gz'), 'deep'])
    execFileSync('tar', ['-C', join(root, 'real'), '--format=pax', '-cf', join(root, 'real.tar'), 'deep'])
    execFileSync('tar', ['-C', join(root, 'real'), '-P', '-cf', join(root, 'absolute.tar'), join(root, 'real')])
    expect([await codeOf('real.tar.gz'), await codeOf('real.tar'), await codeOf('absolute.tar')]).toEqual([
      'ok',
      'ok',
      'artifact_internal_path_blocked',
    ])
  })
})
