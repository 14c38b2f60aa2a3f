import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { describeBlobs } from '../../testing/conformance/blobs.ts'
import { createFileBlobs } from './file.ts'
import { createMemoryBlobs } from './memory.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-blobs-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const freshFolder = () => mkdtempSync(join(root, 'f-'))
const bytes = (text: string) => new TextEncoder().encode(text)

describeBlobs({ describe, it, expect }, 'memory', async () => createMemoryBlobs(), { inMemory: true })
describeBlobs({ describe, it, expect }, 'files', async () => createFileBlobs({ folder: join(freshFolder(), 'made', 'when', 'needed') }))

describe('blobs in files', () => {
  it('detect bytes that changed on disk, and replace a truncated blob when it is put again', async () => {
    const folder = freshFolder()
    const blobs = createFileBlobs({ folder })
    const { sha256 } = await blobs.put(bytes('hello'))
    const file = join(folder, sha256.slice(0, 2), sha256)
    writeFileSync(file, 'jello')
    await expect(blobs.get(sha256)).rejects.toMatchObject({ code: 'blob.damaged', details: { sha256 } })
    writeFileSync(file, 'hel')
    await blobs.put(bytes('hello'))
    expect(readFileSync(file, 'utf8')).toBe('hello')
  })

  it('leave no draft behind, and remove old drafts of a crash', async () => {
    const folder = freshFolder()
    await createFileBlobs({ folder }).put(bytes('first'))
    const incoming = join(folder, 'incoming')
    expect(readdirSync(incoming)).toEqual([])
    for (const name of ['old', 'young']) writeFileSync(join(incoming, name), 'half a blo')
    utimesSync(join(incoming, 'old'), 1_000_000, 1_000_000)
    await createFileBlobs({ folder }).put(bytes('second'))
    expect(readdirSync(incoming)).toEqual(['young'])
  })

  it('leave no draft of a stream behind, whether it was stored, broken off or too large', async () => {
    const folder = freshFolder()
    const blobs = createFileBlobs({ folder })
    const source = async function* (isBroken = false) {
      yield new Uint8Array(100_000).fill(1)
      expect(readdirSync(join(folder, 'incoming'))).toHaveLength(1)
      yield new Uint8Array(100_000).fill(2)
      if (isBroken) throw new Error('the connection was lost')
    }
    await expect(blobs.putStream(source(true))).rejects.toThrow('the connection was lost')
    await expect(blobs.putStream(source(), { maxBytes: 150_000 })).rejects.toMatchObject({ code: 'file.unsafe' })
    expect([readdirSync(folder), readdirSync(join(folder, 'incoming'))]).toEqual([['incoming'], []])
    const { sha256 } = await blobs.putStream(source())
    utimesSync(join(folder, sha256.slice(0, 2), sha256), 1_000, 1_000)
    await blobs.putStream(source()) // renews the time of the blob, as `put` does
    expect(readdirSync(join(folder, 'incoming'))).toEqual([])
    expect(await blobs.removeIfPutBefore(sha256, 1_000_001)).toBe(false)
  })

  it('list blobs with the time of their last put, and write nothing to do so', async () => {
    const folder = join(freshFolder(), 'blobs')
    const blobs = createFileBlobs({ folder })
    expect(await blobs.list()).toEqual([])
    expect(existsSync(folder)).toBe(false)
    const { sha256 } = await blobs.put(bytes('hello'))
    utimesSync(join(folder, sha256.slice(0, 2), sha256), 1_000, 1_000)
    writeFileSync(join(folder, 'incoming', 'draft'), 'half a blo')
    writeFileSync(join(folder, sha256.slice(0, 2), 'not a blob'), '')
    expect(await blobs.list()).toEqual([{ sha256, size: 5, putAt: 1_000_000 }])
  })

  it('remove a blob only when its last put was before the given time', async () => {
    const folder = freshFolder()
    const blobs = createFileBlobs({ folder })
    const [old, again] = [await blobs.put(bytes('old')), await blobs.put(bytes('again'))]
    for (const { sha256 } of [old, again]) utimesSync(join(folder, sha256.slice(0, 2), sha256), 1_000, 1_000)
    expect(await blobs.removeIfPutBefore(old.sha256, 1_000_000)).toBe(false)
    await blobs.put(bytes('again'))
    expect(await blobs.removeIfPutBefore(old.sha256, 1_000_001)).toBe(true)
    expect(await blobs.removeIfPutBefore(again.sha256, 1_000_001)).toBe(false)
    expect(await blobs.removeIfPutBefore(old.sha256, 1_000_001)).toBe(false)
    expect(await blobs.removeIfPutBefore('../../etc/passwd', Number.POSITIVE_INFINITY)).toBe(false)
    expect([await blobs.has(old.sha256), await blobs.get(again.sha256)]).toEqual([false, bytes('again')])
    expect(readdirSync(join(folder, 'incoming'))).toEqual([])
  })

  it('fail with store.failed when the folder can not be created', async () => {
    const folder = join(freshFolder(), 'file')
    writeFileSync(folder, '')
    await expect(createFileBlobs({ folder }).put(bytes('x'))).rejects.toMatchObject({ code: 'store.failed' })
    const stream = (async function* () {
      yield bytes('x')
    })()
    await expect(createFileBlobs({ folder }).putStream(stream)).rejects.toMatchObject({ code: 'store.failed' })
  })
})
