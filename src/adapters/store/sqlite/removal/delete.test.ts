import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { minute, prompt } from '../../../../testing/blocks.ts'
import { appended, closed, compacted, opened, owner } from '../../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../../testing/fixed-clock.ts'
import { createFileBlobs } from '../../../blobs/file.ts'
import { createSqliteStore } from '../store.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-deleted-text-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** How often a text occurs in the files of a folder. */
const countIn = (folder: string, text: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((count, { parentPath, name }) => count + readFileSync(join(parentPath, name), 'latin1').split(text).length - 1, 0)

/** A store with three conversations whose entries are interleaved. Every text of a conversation contains its name. */
async function interleaved(name: string) {
  const folder = join(root, name)
  const file = join(folder, 'daybook.db')
  const blobs = createFileBlobs({ folder: join(folder, 'blobs') })
  const store = await createSqliteStore({ file, blobs, clock: createFixedClock() })
  const names = ['first-one', 'second-one', 'third-one']
  const claims = await Promise.all(names.map((each) => store.claim(each, owner('a'))))
  for (let n = 0; n < 60; n++) {
    for (const claim of claims) {
      const text = `${claim.conversationId} `.repeat(1 + ((n * 37) % 90))
      await store.append(claim, [opened(`t${n}`, n), appended([prompt(text, `t${n}`)], 2 * n + 1), closed(`t${n}`, n)])
      await store.append(claim, [{ type: 'title.set', ts: minute(n), title: `${claim.conversationId} ${n}` }])
      if (n % 20 === 19) await store.append(claim, [compacted(`b_${2 * n + 1}`, 2 * n + 2, `t${n}`, n)])
    }
  }
  for (const claim of claims) await store.release(claim)
  return { store, folder, file }
}

it('leaves no deleted text in the database and its log, even while the store is open', async () => {
  const { store, folder } = await interleaved('delete')
  await store.delete('second-one')
  expect(countIn(folder, 'second-one')).toBe(0)
  expect(countIn(folder, 'third-one')).toBeGreaterThan(500)
  await store.close()
  expect(countIn(folder, 'second-one')).toBe(0)
})

it('empties the log later, if another process reads it during the deletion', async () => {
  const { store, folder, file } = await interleaved('read')
  const reader = new DatabaseSync(file, { readOnly: true })
  reader.exec('BEGIN; SELECT count(*) FROM journal')
  await store.delete('second-one')
  expect(countIn(folder, 'second-one')).toBeGreaterThan(0)
  reader.exec('COMMIT')
  reader.close()
  expect(await store.finishDeletions()).toEqual([])
  expect(countIn(folder, 'second-one')).toBe(0)
  await store.close()
})
