import dns from 'node:dns'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { startS3 } from '../../../test/support/s3-server.ts'
import { describeBlobs } from '../../testing/conformance/blobs.ts'
import { describeHosting } from '../../testing/conformance/hosting.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createDiskFiles } from '../files/disk.ts'
import { createObjectBlobs } from './blobs-in-objects.ts'
import { createFileObjects } from './file-objects.ts'
import { createHosting } from './hosting.ts'
import { createMemoryObjects } from './memory-objects.ts'
import type { ObjectStore } from './objects.ts'
import { createS3Objects } from './s3-objects.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-hosting-'))
const s3 = await startS3(join(root, 's3'))
afterAll(async () => {
  await s3.stop()
  rmSync(root, { recursive: true, force: true })
})

let stores = 0
const kinds: Readonly<Record<string, () => ObjectStore>> = {
  memory: createMemoryObjects,
  files: () => createFileObjects({ files: createDiskFiles({ folder: mkdtempSync(join(root, 'f-')) }) }),
  S3: () => createS3Objects({ ...s3.options, prefix: `store-${++stores}/daybook` }),
}

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array | undefined) => content && new TextDecoder().decode(content)
const runner = { describe, it, expect }

for (const [name, create] of Object.entries(kinds)) {
  describeHosting(runner, name, async () => createHosting({ objects: create(), blobs: createMemoryBlobs() }))
  describeBlobs(runner, `blobs in ${name}`, async () => createObjectBlobs({ objects: create() }), { inMemory: name !== 'S3' })
}

it('objects are stored in a bucket whose name is a part of the host name', async () => {
  const lookup = dns.lookup
  // the host names of buckets are resolved to this machine
  const local = (host: string, options: dns.LookupOptions, done: (...answer: unknown[]) => void) =>
    host.endsWith('.daybook.test')
      ? done(null, options.all ? [{ address: '127.0.0.1', family: 4 }] : '127.0.0.1', 4)
      : lookup(host, options, done)
  const server = await startS3(join(root, 'hosts'), { serviceEndpoint: 'daybook.test' })
  dns.lookup = local as typeof dns.lookup
  try {
    const objects = createS3Objects({ ...server.options, addressing: 'host', prefix: 'a', partBytes: 5 * 1024 * 1024 })
    const large = new Uint8Array(11 * 1024 * 1024).fill(7)
    await objects.put('b/small', bytes('x'))
    await objects.put('b/large', large)
    expect(Buffer.compare((await objects.get('b/large')) ?? bytes(''), large)).toBe(0)
    const keys: string[] = []
    for await (const key of objects.list('b')) keys.push(key)
    expect(keys.sort()).toEqual(['b/large', 'b/small'])
    await objects.deleteTree('b')
    expect(await objects.get('b/small')).toBe(undefined)
    for (const [endpoint, bucket] of [
      ['http://127.0.0.1:9', 'b'],
      ['https://s3.test', 'a/b'],
      ['https://s3.test', 'A'],
    ] as const)
      expect(() => createS3Objects({ ...server.options, endpoint, bucket, addressing: 'host' })).toThrow(
        'can not be a part of the host name',
      )
  } finally {
    dns.lookup = lookup
    await server.stop()
  }
})

describe.each(Object.entries(kinds))('objects in %s', (_, create) => {
  async function keysOf(objects: ObjectStore, tree: string): Promise<readonly string[]> {
    const keys: string[] = []
    for await (const key of objects.list(tree)) keys.push(key)
    return keys.sort()
  }

  it('are stored as they were put, listed by tree and deleted', async () => {
    const objects = create()
    const keys = ['a', 'a/b', 'a/b/c', 'a/.dot', 'ab', 'a b/+&<>"\'é%41', '=', '=/==', 'a/1', 'a/2', 'a/3', 'a/4']
    for (const key of keys) await objects.put(key, bytes(key))
    for (const key of keys) expect(text(await objects.get(key))).toBe(key)
    expect(await keysOf(objects, 'a')).toEqual(['a', 'a/.dot', 'a/1', 'a/2', 'a/3', 'a/4', 'a/b', 'a/b/c'])
    expect(await keysOf(objects, 'a b')).toEqual(['a b/+&<>"\'é%41'])
    expect(await keysOf(objects, '=')).toEqual(['=', '=/=='])
    await objects.delete('a')
    await objects.delete('a')
    expect([await objects.exists('a'), await objects.get('a'), await objects.exists('a/b')]).toEqual([false, undefined, true])
    await objects.deleteTree('a')
    await objects.deleteTree('never/was')
    expect(await keysOf(objects, 'a')).toEqual([])
    expect(await keysOf(objects, 'ab')).toEqual(['ab'])
  })

  it('reject unsafe keys', async () => {
    const objects = create()
    for (const key of ['', '..', '../x', '/x', 'a//b', 'a\\b', 'a/%2e%2e/b', 'a\0', 'a:b', 'x'.repeat(1_025)]) {
      const refused = { code: 'file.unsafe', details: { reason: 'unsafe_path' } }
      await expect(objects.put(key, bytes('x'))).rejects.toMatchObject(refused)
      await expect(objects.get(key)).rejects.toMatchObject(refused)
      await expect(objects.exists(key)).rejects.toMatchObject(refused)
      await expect(objects.delete(key)).rejects.toMatchObject(refused)
      await expect(objects.deleteTree(key)).rejects.toMatchObject(refused)
      await expect(keysOf(objects, key)).rejects.toMatchObject(refused)
    }
    expect(await objects.exists('x')).toBe(false)
  })

  it('never resolve a pointer under a wrong key, and report a damaged one', async () => {
    const objects = create()
    const hosting = createHosting({ objects, blobs: createMemoryBlobs() })
    const owner = { tenant: 't', project: 'p', user: 'u' }
    const file = { owner, conversationId: 'c', turnId: 'turn_1', stage: 'file', mime: 'text/plain', ts: '', content: bytes('x') } as const
    const mine = await hosting.host({ ...file, physicalPath: 'turn_1/files/a' })
    const theirs = await hosting.host({ ...file, owner: { ...owner, user: 'v' }, physicalPath: 'turn_1/files/a' })
    const pointer = await objects.get(theirs.key)
    if (pointer) await objects.put(mine.key, pointer)
    expect(await hosting.resolve(mine.rn, owner)).toBe(undefined)
    await objects.put(mine.key, bytes('{"version":1,'))
    await expect(hosting.resolve(mine.rn, owner)).rejects.toMatchObject({ code: 'hosting.failed' })
  })
})

it('stores a file name of the greatest length on disk', async () => {
  const objects = kinds.files?.()
  const key = `a/${'n'.repeat(255)}`
  await objects?.put(key, bytes('x'))
  expect(text(await objects?.get(key))).toBe('x')
})

it('S3 stores a large object in parts', async () => {
  const objects = createS3Objects({ ...s3.options, prefix: 'parts', partBytes: 5 * 1024 * 1024 })
  const content = new Uint8Array(12 * 1024 * 1024).map((_, index) => (index * 31) % 251)
  await objects.put('large', content)
  expect(Buffer.compare((await objects.get('large')) ?? new Uint8Array(), content)).toBe(0)
  expect(await objects.get('large', { start: 5 * 1024 * 1024 - 1, end: 5 * 1024 * 1024 + 2 })).toEqual(
    content.slice(5 * 1024 * 1024 - 1, 5 * 1024 * 1024 + 2),
  )
})

it('blobs in a bucket that does not exist are reported by `check`', async () => {
  const blobs = createObjectBlobs({ objects: createS3Objects({ ...s3.options, bucket: 'missing' }) })
  await expect(blobs.check?.()).rejects.toThrow('make the bucket')
})
