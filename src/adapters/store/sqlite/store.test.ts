import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { prompt } from '../../../testing/blocks.ts'
import { accepted, appended, owner } from '../../../testing/conformance/store/fixture.ts'
import { watchOffers } from '../../../testing/conformance/store/offers.ts'
import { describeStore } from '../../../testing/conformance/store.ts'
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

it('tells a watcher about entries that another store has appended to the same file, and about no others', async () => {
  const [clock, blobs, file] = [createFixedClock(), createMemoryBlobs(), join(mkdtempSync(join(root, 's-')), 'daybook.db')]
  const [mine, theirs] = [await createSqliteStore({ file, blobs, clock }), await createSqliteStore({ file, blobs, clock })]
  const told: unknown[] = []
  const claim = await theirs.claim('c1', owner('b'))
  const onError = (error: unknown) => void told.push(error)
  const unwatch = mine.watch('c1', { onWritten: (lastSeq) => void told.push(lastSeq), onError })
  await theirs.append(await theirs.claim('c2', owner('b')), [appended([prompt('elsewhere')])])
  await theirs.append(claim, [appended([prompt('a')])])
  await expect.poll(() => told).toEqual([1])
  await theirs.append(claim, [appended([prompt('b')], 2)])
  await theirs.append(claim, [appended([prompt('c')], 3)])
  await expect.poll(() => told.at(-1)).toBe(3)
  await theirs.delete('c1')
  await expect.poll(() => told.at(-1)).toBe(undefined)
  unwatch()
  await Promise.all([mine.close(), theirs.close()])
})

it('tells a listener about offers of another store with the same file, and stores an event once that both offer', async () => {
  const [clock, blobs, file] = [createFixedClock(), createMemoryBlobs(), join(mkdtempSync(join(root, 's-')), 'daybook.db')]
  const [mine, theirs] = [await createSqliteStore({ file, blobs, clock }), await createSqliteStore({ file, blobs, clock })]
  const event = (id: string) => ({ event_id: id, kind: 'followup', ts: clock.now(), text: id }) as const
  const { told, errors, unwatch } = watchOffers(mine)
  const claim = await mine.claim('c1', owner('a'))
  await theirs.offer('c1', event('e1'))
  await expect.poll(() => told).toContain('c1')
  expect(await mine.readOffers('c1')).toEqual([event('e1')])
  await mine.append(claim, [accepted('e1', 1)], { takes: [{ eventId: 'e1', outcome: 'accepted' }] })
  expect(await theirs.findOffer('c1', 'e1')).toBe('accepted')
  const both = await Promise.all([mine, theirs, mine, theirs].map((store) => store.offer('c1', event('e2'))))
  expect(both.filter((result) => result === 'offered')).toHaveLength(1)
  expect(errors).toEqual([])
  unwatch()
  await Promise.all([mine.close(), theirs.close()])
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
