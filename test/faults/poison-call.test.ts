import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { journalOf } from '../../src/testing/conformance/store/fixture.ts'
import { codeCache, createDatabaseFolder, openStoreIn } from './children.ts'

it('a repeatable call that kills its process again and again is given up, and the turn goes on', async () => {
  const database = createDatabaseFolder()
  const { folder, file, blobs } = database
  const live = () =>
    spawnSync(process.execPath, [join(import.meta.dirname, 'poison-child.ts'), folder, file, blobs], {
      encoding: 'utf8',
      env: { ...process.env, NODE_COMPILE_CACHE: codeCache },
    })
  const lives = Array.from({ length: 4 }, live)
  expect(lives.map(({ signal }) => signal)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL', null])
  expect(lives.at(-1)?.stdout).toBe('I gave up.\n')
  const store = await openStoreIn(database)
  const journal = (await journalOf(store, 'c1')).map(({ change }) => change)
  expect(journal.filter(({ type }) => type === 'call.repeated')).toHaveLength(2)
  expect(JSON.stringify(journal)).toContain('tool_call_error.gave_up')
  await store.close()
  rmSync(folder, { recursive: true })
})
