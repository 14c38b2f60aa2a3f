import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { owner } from '../../src/testing/conformance/store/fixture.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'
import { createDatabaseFolder, openStoreIn } from './children.ts'

const folders: string[] = []
afterEach(closeServers)
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function openServerOnDisk() {
  const database = createDatabaseFolder()
  folders.push(database.folder)
  const store = await openStoreIn(database)
  const { server, client } = await openServer({ store, replies: [reply.answer('One.'), reply.answer('Two.')] })
  const ready = async () => (await fetch(`${server.url}/ready`)).status
  await client.conversations.create({ id: 'c1' })
  expect(await ready()).toBe(200)
  return { ...database, store, client, ready }
}

describe('files that are removed while a server runs', () => {
  const losses = {
    'the database': ({ file }: { file: string }) => rmSync(file),
    'the write-ahead log': ({ file }: { file: string }) => rmSync(`${file}-wal`),
    'the database, which is replaced by a copy': ({ file }: { file: string }) => {
      cpSync(file, `${file}.copy`)
      rmSync(file)
      cpSync(`${file}.copy`, file)
    },
    'the folder of blobs': ({ blobs }: { blobs: string }) => rmSync(blobs, { recursive: true }),
  }
  for (const [name, lose] of Object.entries(losses)) {
    it(`${name}: /ready answers 503 within seconds`, async () => {
      const { ready, ...paths } = await openServerOnDisk()
      lose(paths)
      await expect.poll(ready, { timeout: 5_000 }).toBe(503)
      expect(await ready()).toBe(503)
    })
  }

  for (const name of ['the database', 'the write-ahead log', 'the database, which is replaced by a copy'] as const) {
    it(`${name}: no message is accepted any more, even if /ready was never asked`, async () => {
      const { client, store, ...paths } = await openServerOnDisk()
      losses[name](paths)
      for (let n = 0; n < 2; n++) await expect(client.send('c1', 'lost?')).rejects.toMatchObject({ status: 503, code: 'store.failed' })
      await expect(store.claim('c2', owner('a'))).rejects.toMatchObject({ code: 'store.failed' })
    })
  }

  it('the folder for incoming blobs: it is created again, and no blob is lost', async () => {
    const { blobs: folder, ready } = await openServerOnDisk()
    const blobs = createFileBlobs({ folder })
    const before = await blobs.put(Buffer.from('before'))
    rmSync(join(folder, 'incoming'), { recursive: true })
    const { sha256 } = await blobs.put(Buffer.from('after'))
    expect(Buffer.from(await blobs.get(sha256)).toString()).toBe('after')
    rmSync(join(folder, 'incoming'), { recursive: true })
    expect(await blobs.removeIfPutBefore(before.sha256, Date.now() + 60_000)).toBe(true)
    expect(await blobs.has(before.sha256)).toBe(false)
    expect(await ready()).toBe(200)
  })

  it('the folder for incoming blobs, in the place of which a file lies: /ready answers 503 until it is gone', async () => {
    const { blobs, ready } = await openServerOnDisk()
    const incoming = join(blobs, 'incoming')
    rmSync(incoming, { recursive: true, force: true })
    mkdirSync(blobs, { recursive: true })
    writeFileSync(incoming, '')
    await expect.poll(ready, { timeout: 5_000 }).toBe(503)
    rmSync(incoming)
    await expect.poll(ready, { timeout: 5_000 }).toBe(200)
  })
})

const mountDisk = 'mount -t tmpfs -o size=1500k tmpfs "$0" && exec "$@"'
const canMount = spawnSync('unshare', ['--mount', 'sh', '-c', mountDisk, '/mnt', 'true']).status === 0

it.skipIf(!canMount)('a full disk is noticed by the check of the store, and the store works again when there is space', () => {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-full-'))
  folders.push(folder)
  const script = join(import.meta.dirname, 'full-disk-child.ts')
  const child = spawnSync('unshare', ['--mount', 'sh', '-c', mountDisk, folder, process.execPath, script, folder], { encoding: 'utf8' })
  expect(child.stdout.split('\n')).toEqual(['works', 'store.failed', 'works', ''])
})
