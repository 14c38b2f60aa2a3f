import { once } from 'node:events'
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, it } from 'vitest'
import { Failure } from '../../core/failure.ts'
import { createDiskFiles } from './disk.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-disk-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const freshFolder = () => mkdtempSync(join(root, 'f-'))
const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array | undefined) => content && new TextDecoder().decode(content)
const reasonOf = (error: unknown) => (error instanceof Failure ? error.details.reason : error)

/**
 * Runs `work` while a worker thread repeats `steps` on the same files as fast as it can. Errors of the file system in a step are ignored,
 * because both sides change the same files.
 */
async function meanwhile(at: Record<string, string>, steps: string, work: () => Promise<void>): Promise<void> {
  const source = `
    const { workerData: at, parentPort } = require('node:worker_threads')
    const fs = require('node:fs')
    const step = (change) => { try { change() } catch (error) { if (error.code === undefined) throw error } }
    parentPort.postMessage('ready')
    for (;;) { ${steps} }`
  const worker = new Worker(source, { eval: true, workerData: at })
  await once(worker, 'message')
  try {
    await work()
  } finally {
    await worker.terminate()
  }
}

describe('while another program changes files', () => {
  it('never reads the target of a link that takes the place of a file', async () => {
    const [folder, outside] = [freshFolder(), freshFolder()]
    writeFileSync(join(outside, 'secret'), 'secret')
    writeFileSync(join(folder, 'x'), 'honest')
    const files = createDiskFiles({ folder })
    const seen = new Set<unknown>()
    const steps = `
      step(() => fs.symlinkSync(at.outside + '/secret', at.folder + '/.l'))
      step(() => fs.renameSync(at.folder + '/.l', at.folder + '/x'))
      step(() => fs.writeFileSync(at.folder + '/.f', 'honest'))
      step(() => fs.renameSync(at.folder + '/.f', at.folder + '/x'))`
    await meanwhile({ folder, outside }, steps, async () => {
      for (let n = 0; n < 300 || (seen.size < 2 && n < 20_000); n++) seen.add(await files.read('x').then(text, reasonOf))
    })
    expect(seen).toEqual(new Set(['honest', 'symlink_blocked']))
  })

  it('never reads or writes through a link that takes the place of a folder', async () => {
    const [folder, outside] = [freshFolder(), freshFolder()]
    writeFileSync(join(outside, 'x'), 'secret')
    mkdirSync(join(folder, 'd'))
    writeFileSync(join(folder, 'd/x'), 'honest')
    const files = createDiskFiles({ folder })
    const seen = new Set<unknown>()
    const steps = `
      step(() => fs.renameSync(at.folder + '/d', at.folder + '/e'))
      step(() => fs.symlinkSync(at.outside, at.folder + '/d'))
      step(() => fs.unlinkSync(at.folder + '/d'))
      if (fs.existsSync(at.folder + '/e')) step(() => fs.rmSync(at.folder + '/d', { recursive: true }))
      step(() => fs.renameSync(at.folder + '/e', at.folder + '/d'))`
    await meanwhile({ folder, outside }, steps, async () => {
      for (let n = 0; n < 300 || (!(seen.has('honest') && seen.has('symlink_blocked')) && n < 20_000); n++) {
        seen.add(await files.read('d/x').then(text, reasonOf))
        if (n % 10 === 0) await files.write(`d/${n}`, bytes('mine')).catch(reasonOf)
        if (n % 10 === 5) await files.remove('d/x-not-there').catch(reasonOf)
      }
    })
    expect(seen.has('honest') && seen.has('symlink_blocked')).toBe(true)
    expect(seen.has('secret')).toBe(false)
    expect(readdirSync(outside)).toEqual(['x'])
  })
})

describe('files on disk', () => {
  it('leave no draft behind, neither after a write nor after a rejected one', async () => {
    const folder = freshFolder()
    const files = createDiskFiles({ folder })
    await files.write('a/b', bytes('x'), { readOnly: true })
    await expect(files.write('a/b', bytes('y'))).rejects.toMatchObject({ details: { reason: 'read_only' } })
    await files.replaceFolder('c', new Map([['deep/er', bytes('z')]]))
    await files.replaceFolder('c', new Map([['deep/er', bytes('z')]]))
    expect(readdirSync(join(folder, '.daybook'))).toEqual([])
    expect(lstatSync(join(folder, 'a/b')).mode & 0o777).toBe(0o444)
    expect(readFileSync(join(folder, 'c/deep/er'), 'utf8')).toBe('z')
  })

  it('are removed from a tree of any depth', async () => {
    const folder = freshFolder()
    const files = createDiskFiles({ folder })
    const { chdir, cwd } = process
    const home = cwd()
    mkdirSync(join(folder, 'deep'))
    chdir(join(folder, 'deep'))
    for (let depth = 0; depth < 1_500; depth++) {
      mkdirSync('some-folder') // in the end the path is far longer than the system allows
      chdir('some-folder')
    }
    writeFileSync('bottom', 'x')
    chdir(home)
    expect((await files.list('')).files).toEqual([])
    await files.replaceFolder('deep', new Map())
    expect(readdirSync(join(folder, '.daybook'))).toEqual([])
  })

  it('leave no handle open, whatever the outcome of a call', async () => {
    const folder = freshFolder()
    const files = createDiskFiles({ folder })
    const open = () => readdirSync('/proc/self/fd').length
    await files.write('a/b/c', bytes('x'))
    const before = open()
    for (const path of ['a/b/c', 'a/b', 'a/b/c/d', 'nothing/here', '../up']) {
      await files.read(path, { maxBytes: 0 }).catch(reasonOf)
      await files.stat(path).catch(reasonOf)
      await files.write(path, bytes('y')).catch(reasonOf)
      await files.list(path).catch(reasonOf)
      await files.replaceFolder(path, new Map([['x', bytes('z')]])).catch(reasonOf)
      await files.remove(path).catch(reasonOf)
    }
    expect(open()).toBe(before)
  })
})

describe('without permission', () => {
  it('reports no_access for the file or folder, and lists the others', async () => {
    const folder = freshFolder()
    for (const above of [root, folder]) chmodSync(above, 0o777)
    await withoutRoot(async () => {
      const files = createDiskFiles({ folder })
      await files.write('closed/x', bytes('x'))
      await files.write('open', bytes('x'))
      await files.write('file', bytes('x'))
      chmodSync(join(folder, 'closed'), 0)
      chmodSync(join(folder, 'file'), 0)
      const noAccess = { code: 'file.unsafe', details: { reason: 'no_access' } }
      for (const path of ['closed/x', 'file']) await expect(files.read(path)).rejects.toMatchObject(noAccess)
      await expect(files.write('closed/x', bytes('y'))).rejects.toMatchObject(noAccess)
      await expect(files.list('closed')).rejects.toMatchObject(noAccess)
      expect((await files.list('')).files.map(({ path }) => path)).toEqual(['file', 'open'])
      chmodSync(join(folder, 'closed'), 0o700)
    })
  })

  /** Runs `work` as another user than root, because root may open every file, even without permission. */
  async function withoutRoot(work: () => Promise<void>): Promise<void> {
    if (process.getuid?.() !== 0) return work()
    process.seteuid?.(65_534)
    try {
      await work()
    } finally {
      process.seteuid?.(0)
    }
  }
})
