import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createDiskFiles } from '../../src/adapters/files/disk.ts'
import { createFileObjects } from '../../src/adapters/hosting/file-objects.ts'
import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { pdf } from '../support/sample-files/pdf.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-file-storage-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)

async function storedBytes(replies: readonly string[], attached?: Uint8Array) {
  const folder = mkdtempSync(join(root, 's-'))
  const clock = createFixedClock()
  const blobs = createFileBlobs({ folder: join(folder, 'blobs') })
  await (await createSqliteStore({ file: join(folder, 'journal.db'), blobs, clock })).close()
  const empty = sizeAfterCheckpoint(folder)
  const store = await createSqliteStore({ file: join(folder, 'journal.db'), blobs, clock })
  const hosting = createHosting({ objects: createFileObjects({ files: createDiskFiles({ folder: join(folder, 'hosted') }) }), blobs })
  const harness = createHarness({ replies, clock, store, hosting, settings: { maxRounds: 100, contextTokens: 10_000_000 } })
  const attachments = attached ? [{ name: 'a.pdf', content: attached }] : []
  await harness.agent.run('c1', 'Go.', { attachments }).result
  await store.close()
  return sizeAfterCheckpoint(folder) - empty
}

/** The size of the folder after the write-ahead log was merged into the database. */
function sizeAfterCheckpoint(folder: string): number {
  const database = new DatabaseSync(join(folder, 'journal.db'))
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  return sizeOf(folder)
}

/** Text without repetition, which no store can compress. */
const uniqueText = (n: number, length: number) =>
  Array.from({ length: length / 10 }, (_, at) => ((n + 1) * 7_919 * (at + 1)).toString(36).padStart(9, 'x')).join(' ')

const overhead = (rounds: number) => 2_048 * rounds

it.each(['display', 'file'])('a %s that is written many times is stored once per write, beside the response of the model', async (kind) => {
  const rounds = 20
  const contents = Array.from({ length: rounds }, (_, n) => uniqueText(n, 100_000))
  const replies = contents.map((content) => reply.call('react.write', { path: 'files/app/a.md', channel: 'canvas', content, kind }))
  const bytes = await storedBytes([...replies, reply.answer('Done.')])
  const payload = [...replies, ...contents].reduce((sum, { length }) => sum + length, 0)
  expect(bytes).toBeGreaterThan(payload / 2)
  expect(bytes).toBeLessThan(1.3 * payload + overhead(rounds + 1))
})

it('the same text written twenty times is stored once, beside the responses of the model', async () => {
  const content = uniqueText(1, 100_000)
  const modelReply = reply.call('react.write', { path: 'files/app/a.md', channel: 'canvas', content, kind: 'file' })
  const bytes = await storedBytes([...Array.from({ length: 20 }, () => modelReply), reply.answer('Done.')])
  expect(bytes).toBeLessThan(1.3 * (20 * modelReply.length + content.length) + overhead(21))
})

it('an attachment is stored once, although journal, blobs and hosting refer to it', async () => {
  const attached = pdf(['one', 'two'], { extra: [`(${uniqueText(1, 1_000_000)})`] })
  const bytes = await storedBytes([reply.answer('Seen.')], attached)
  expect(bytes).toBeGreaterThan(attached.length / 2)
  expect(bytes).toBeLessThan(1.3 * attached.length + overhead(1))
})
