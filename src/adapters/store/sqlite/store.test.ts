import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { describeStore } from '../../../testing/conformance/store.ts'
import { owner } from '../../../testing/conformance/store-fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { createSqliteStore } from './store.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-sqlite-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

describeStore({ describe, it, expect }, 'the SQLite store', async () => {
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  const store = await createSqliteStore({ file: join(mkdtempSync(join(root, 's-')), 'daybook.db'), blobs, clock })
  return { store, clock, blobs }
})

it('creates files that only their owner can access', async () => {
  const folder = mkdtempSync(join(root, 's-'))
  const store = await createSqliteStore({ file: join(folder, 'daybook.db'), blobs: createMemoryBlobs(), clock: createFixedClock() })
  await store.claim('c1', owner('a'))
  const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777])
  expect(modes).toEqual([
    ['daybook.db', 0o600],
    ['daybook.db-shm', 0o600],
    ['daybook.db-wal', 0o600],
  ])
  await store.close()
})

it('creates the folders above its file, accessible to their owner only', async () => {
  const top = mkdtempSync(join(root, 's-'))
  const file = join(top, 'a', 'b', 'daybook.db')
  await (await createSqliteStore({ file, blobs: createMemoryBlobs(), clock: createFixedClock() })).close()
  expect([join(top, 'a'), join(top, 'a', 'b')].map((folder) => statSync(folder).mode & 0o777)).toEqual([0o700, 0o700])
})

it.skipIf(!existsSync('/proc/self'))('fails at once when the folder of its file can not be created', async () => {
  writeFileSync(join(root, 'taken'), '')
  for (const file of ['/proc/daybook/daybook.db', join(root, 'taken', 'daybook.db'), join(root, 'taken', 'a', 'daybook.db')]) {
    const opening = createSqliteStore({ file, blobs: createMemoryBlobs(), clock: createFixedClock() })
    await expect(opening).rejects.toMatchObject({ code: 'store.failed', message: expect.stringContaining(`${file} can not be opened: `) })
  }
})

it('rejects an empty file beside a write-ahead log: the file was lost, and the log may hold the only copy', async () => {
  const file = join(mkdtempSync(join(root, 's-')), 'daybook.db')
  writeFileSync(file, '')
  writeFileSync(`${file}-wal`, 'what a crash left')
  const opening = createSqliteStore({ file, blobs: createMemoryBlobs(), clock: createFixedClock() })
  await expect(opening).rejects.toMatchObject({ code: 'store.damaged' })
  expect([statSync(file).size, statSync(`${file}-wal`).size]).toEqual([0, 17])
})
