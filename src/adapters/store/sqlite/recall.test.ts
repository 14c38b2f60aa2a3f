import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { prompt } from '../../../testing/blocks.ts'
import { appended, opened, writeConversation } from '../../../testing/conformance/store/fixture.ts'
import { memoryOf } from '../../../testing/conformance/store/memory.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { createSqliteStore } from './store.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-memory-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const open = (file: string) => createSqliteStore({ file, blobs: createMemoryBlobs(), clock: createFixedClock() })

function countRows(file: string, table: string): number {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return (database.prepare(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }).rows
  } finally {
    database.close()
  }
}

/** The number of commits in the write-ahead log. The last frame of a commit has the size of the database in its bytes 4 to 8. */
function commitsIn(file: string): number {
  const log = readFileSync(`${file}-wal`)
  const frameBytes = 24 + log.readUInt32BE(8)
  const frames = Array.from({ length: Math.floor((log.length - 32) / frameBytes) }, (_, n) => 32 + n * frameBytes)
  return frames.filter((at) => log.readUInt32BE(at + 4) > 0).length
}

it('few entries of many conversations are indexed in few commits', async () => {
  const file = join(folder, 'many.db')
  const store = await open(file)
  const ids = Array.from({ length: 60 }, (_, n) => `c${n}`)
  for (const id of ids) await writeConversation(store, id, [opened('t1'), appended([prompt(`river ${id}`)])])
  const before = commitsIn(file)
  expect(await memoryOf(store).catchUp()).toBe(ids.length)
  expect(commitsIn(file) - before).toBeLessThan(5)
  expect(countRows(file, 'memory_snippets')).toBe(ids.length)
  expect(countRows(file, 'memory_behind')).toBe(0)
  await store.close()
})

it('a conversation is noted as behind until all its entries are indexed', async () => {
  const file = join(folder, 'noted.db')
  const store = await open(file)
  const claim = await writeConversation(store, 'c1', [opened('t1'), appended([prompt('number 1')])])
  expect(countRows(file, 'memory_behind')).toBe(1)
  await memoryOf(store).catchUp()
  expect(countRows(file, 'memory_behind')).toBe(0)
  await store.append(claim, [appended([prompt('number 2')], 2)])
  expect(countRows(file, 'memory_behind')).toBe(1)
  await store.close()
})
