import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { applyChange } from '../../src/core/timeline/apply.ts'
import { blocksOfChange } from '../../src/core/timeline/change.ts'
import { blocksOf, emptyTimeline } from '../../src/core/timeline/timeline.ts'
import { journalOf } from '../../src/testing/conformance/store/fixture.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { acknowledged, codeCache, createDatabaseFolder, type DatabaseFolder, openStoreIn, startWriter } from './children.ts'
import { blockNumber } from './contents.ts'

const folders: DatabaseFolder[] = []
function newFolder(): DatabaseFolder {
  const folder = createDatabaseFolder()
  folders.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of [codeCache, ...folders.map(({ folder }) => folder)]) rmSync(folder, { recursive: true, force: true })
})

/**
 * Opens the store and checks every entry and every blob. Also checks that the loaded timeline equals the replayed journal. Returns the
 * authors of the blocks in order.
 */
async function inspect(databaseFolder: DatabaseFolder, conversationId: string): Promise<readonly string[]> {
  const store = await openStoreIn(databaseFolder)
  const blobs = createFileBlobs({ folder: databaseFolder.blobs })
  const entries = await journalOf(store, conversationId)
  const authors: string[] = []
  for (const [index, { seq, change }] of entries.entries()) {
    expect(seq).toBe(index + 1)
    const [block, more] = blocksOfChange(change)
    if (!block || more) throw new Error(`entry ${seq} is torn`)
    const { base64, ...expected } = blockNumber(seq, block.author)
    const { blob, ...stored } = block
    expect(stored).toEqual(expected)
    expect(blob && Buffer.from(await blobs.get(blob.sha256)).toString('base64')).toBe(base64)
    authors.push(block.author)
  }
  expect(entries.length % 2).toBe(0) // each append has two changes, which are both stored or both not
  const replayed = entries.reduce((timeline, { change }) => applyChange(timeline, change), emptyTimeline())
  const saved = await store.loadVisible(conversationId)
  expect(saved && { ...saved.timeline, spine: 0, blocks: blocksOf(saved.timeline) }).toEqual({
    ...replayed,
    spine: 0,
    blocks: blocksOf(replayed),
  })
  await store.close()
  const database = new DatabaseSync(databaseFolder.file, { readOnly: true })
  expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(database.prepare('PRAGMA foreign_key_check').all()).toEqual([])
  database.close()
  return authors
}

it('two processes on one database, each in its own conversation, lose no entry', async () => {
  const databaseFolder = newFolder()
  const writers = ['a', 'b'].map((owner) => startWriter(databaseFolder, { conversation: `of-${owner}`, owner, appends: 40 }).begin())
  await Promise.all(writers.map(({ ended }) => ended))
  for (const [n, owner] of ['a', 'b'].entries()) {
    expect(writers[n]?.lines.at(-1)).toBe('done')
    expect(await inspect(databaseFolder, `of-${owner}`)).toEqual(Array(80).fill(owner))
  }
})

it('a process whose conversation is taken over fails with conversation.superseded, and every acknowledged entry of both processes is stored', async () => {
  const databaseFolder = newFolder()
  const second = startWriter(databaseFolder, { conversation: 'c1', owner: 'second', appends: 10 })
  const first = startWriter(databaseFolder, { conversation: 'c1', owner: 'first' }).begin()
  await first.waitForLines(6)
  second.begin()
  await Promise.all([first.ended, second.ended])
  expect(first.lines.at(-1)).toBe('failed conversation.superseded')
  expect(second.lines.at(-1)).toBe('done')
  const authors = await inspect(databaseFolder, 'c1')
  expect(authors).toEqual([...Array(acknowledged(first)).fill('first'), ...Array(20).fill('second')])
})

it('a full disk fails the append with store.failed, keeps the acknowledged entries, and the next process can append again', async () => {
  const databaseFolder = newFolder()
  const limited = startWriter(databaseFolder, { conversation: 'c1', owner: 'a', shell: 'trap "" XFSZ; ulimit -f 300; exec "$@"' }).begin()
  await limited.ended
  expect(limited.lines.at(-1)).toBe('failed store.failed')
  expect(acknowledged(limited)).toBeGreaterThan(0)
  expect((await inspect(databaseFolder, 'c1')).length).toBe(acknowledged(limited))
  const next = startWriter(databaseFolder, { conversation: 'c1', owner: 'b', appends: 3 }).begin()
  await next.ended
  expect(next.lines.at(-1)).toBe('done')
  expect((await inspect(databaseFolder, 'c1')).length).toBe(acknowledged(next))
})

it('deleting a conversation in one process removes no blob that another process is about to reference', async () => {
  const databaseFolder = newFolder()
  const store = await openStoreIn(databaseFolder)
  const writer = startWriter(databaseFolder, { conversation: 'kept', owner: 'a', appends: 30 }).begin()
  await writer.waitForLines(1)
  for (let n = 1; !writer.lines.includes('done') && n < 400; n++) {
    const claim = await store.claim('doomed', { id: 'b', host: 'here', pid: process.pid })
    const nextBlock = acknowledged(writer) + 1
    const number = (offset: number) => blockNumber(nextBlock + offset, 'b')
    // the blobs that the writer will store next
    await store.append(claim, [{ type: 'blocks.appended', blocks: [0, 1, 2, 3, 4, 5].map(number) }])
    await store.delete('doomed')
  }
  await writer.ended
  await store.close()
  expect((await inspect(databaseFolder, 'kept')).length).toBe(60)
})

it('a writer killed at thirty random times loses no acknowledged entry and leaves no partial append', async (context) => {
  countAttempts(context, 30)
  const databaseFolder = newFolder()
  const start = (round: number) => startWriter(databaseFolder, { conversation: 'c1', owner: `writer-${round}` })
  let highest = 0
  let next = start(0)
  for (let round = 0; round < 30; round++) {
    const writer = next.begin()
    next = start(round + 1)
    await writer.waitForLines(1 + Math.floor(Math.random() * 10))
    await sleep(Math.random() * 3)
    await writer.kill()
    expect(writer.lines.filter((line) => line.startsWith('failed'))).toEqual([])
    highest = Math.max(highest, acknowledged(writer))
    expect((await inspect(databaseFolder, 'c1')).length).toBeGreaterThanOrEqual(highest)
  }
  await next.kill()
  expect(highest).toBeGreaterThan(30)
}, 120_000)
