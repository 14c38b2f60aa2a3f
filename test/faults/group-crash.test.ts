import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { journalOf } from '../../src/testing/conformance/store/fixture.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { createDatabaseFolder, type DatabaseFolder, openStoreIn } from './children.ts'

const CONVERSATIONS = 40
const LIVES = 5
const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): DatabaseFolder {
  const databaseFolder = createDatabaseFolder()
  folders.push(databaseFolder.folder)
  return databaseFolder
}

/** Starts a process that appends to many conversations. `limit` is the most kilobytes that a file may have. */
function startWriter({ file, blobs }: DatabaseFolder, limit = 'unlimited') {
  const script = join(import.meta.dirname, 'group-writer.ts')
  const shell = `trap "" XFSZ; ulimit -f ${limit}; exec "$@"`
  const args = ['-c', shell, 'sh', process.execPath, script, file, blobs, String(CONVERSATIONS)]
  const child = spawn('sh', args, { stdio: ['pipe', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString()
  })
  child.stdin.end('go')
  return { child, ended: once(child, 'close'), lines: () => output.split('\n').slice(0, -1) }
}

/** The highest `seq` of each conversation that the store has acknowledged. */
function acknowledged(lines: readonly string[]): ReadonlyMap<string, number> {
  const last = new Map<string, number>()
  for (const line of lines) {
    const [what, id = '', seq] = line.split(' ')
    if (what === 'acknowledged') last.set(id, Number(seq))
  }
  return last
}

async function storedEntries(databaseFolder: DatabaseFolder): Promise<ReadonlyMap<string, number>> {
  const store = await openStoreIn(databaseFolder)
  const { conversations } = await store.list({ limit: CONVERSATIONS })
  const counts = new Map<string, number>()
  for (const { conversationId } of conversations) {
    const entries = await journalOf(store, conversationId)
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1))
    expect(entries.length % 2).toBe(0) // each append has two changes, which are both stored or both not
    counts.set(conversationId, entries.length)
  }
  await store.close()
  return counts
}

it('a full disk fails every append of the group that could not be written, and stores nothing of them', async () => {
  const databaseFolder = newFolder()
  const writer = startWriter(databaseFolder, '600')
  await writer.ended
  const failed = writer.lines().filter((line) => line.startsWith('failed'))
  expect(failed).toEqual(Array(CONVERSATIONS).fill('failed store.failed'))
  const known = acknowledged(writer.lines())
  expect(known.size).toBe(CONVERSATIONS)
  expect(await storedEntries(databaseFolder)).toEqual(known)
}, 60_000)

it('a process killed while many conversations write loses no acknowledged entry and leaves no partial append', async (context) => {
  countAttempts(context, LIVES)
  const databaseFolder = newFolder()
  for (let life = 0; life < LIVES; life++) {
    const writer = startWriter(databaseFolder)
    await expect.poll(() => acknowledged(writer.lines()).size, { timeout: 30_000, interval: 5 }).toBe(CONVERSATIONS)
    await sleep(Math.random() * 100)
    writer.child.kill('SIGKILL')
    await writer.ended
    const stored = await storedEntries(databaseFolder)
    for (const [id, seq] of acknowledged(writer.lines())) expect(stored.get(id)).toBeGreaterThanOrEqual(seq)
  }
}, 60_000)
