import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { prompt } from '../../src/testing/blocks.ts'
import {
  appended,
  compacted,
  journalOf,
  opened,
  owner,
  visibleIds,
  writeConversation,
} from '../../src/testing/conformance/store/fixture.ts'
import { createDatabaseFolder, type DatabaseFolder, openStoreIn } from './children.ts'

const folders: DatabaseFolder[] = []
afterAll(() => {
  for (const { folder } of folders) rmSync(folder, { recursive: true, force: true })
})

/** A closed database with one conversation: five entries, one of them with a large text. */
async function createFilledDatabase(): Promise<DatabaseFolder> {
  const database = createDatabaseFolder()
  folders.push(database)
  const store = await openStoreIn(database)
  await writeConversation(
    store,
    'c1',
    [opened('t1'), appended([prompt('a')]), appended([prompt('long '.repeat(4_000))], 2)],
    [compacted('b_1', 3), appended([prompt('b')], 4)],
  )
  await store.close()
  return database
}

/** The names and contents of all files, to check that no file was changed. */
function snapshot({ folder }: DatabaseFolder): Readonly<Record<string, string>> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name)).toString('base64')]),
  )
}

function edit({ file }: DatabaseFolder, sql: string): void {
  const connection = new DatabaseSync(file)
  connection.exec(sql)
  connection.close()
}

async function expectOpenFails(database: DatabaseFolder, code: string): Promise<void> {
  const before = snapshot(database)
  await expect(openStoreIn(database)).rejects.toMatchObject({ name: 'Failure', code })
  expect(snapshot(database)).toEqual(before)
}

describe('opening a database', () => {
  it('a closed database is one file: its write-ahead log is merged', async () => {
    const { folder } = await createFilledDatabase()
    expect(readdirSync(folder).sort()).toEqual(['blobs', 'daybook.db'])
  })

  it('rejects a file that is not a database and leaves its bytes unchanged', async () => {
    const database = await createFilledDatabase()
    writeFileSync(database.file, 'Dear diary, '.repeat(1_000))
    await expectOpenFails(database, 'store.damaged')
  })

  it('rejects a database of another program', async () => {
    const database = await createFilledDatabase()
    unlinkSync(database.file)
    edit(database, 'CREATE TABLE recipes (name TEXT)')
    await expectOpenFails(database, 'store.damaged')
  })

  it('rejects a file that was truncated at any length', async () => {
    const database = await createFilledDatabase()
    const whole = readFileSync(database.file)
    for (const length of [1, 99, 2_048, whole.length - 2_048, whole.length - 1]) {
      writeFileSync(database.file, whole.subarray(0, length))
      await expectOpenFails(database, 'store.damaged')
    }
    writeFileSync(database.file, whole)
    await (await openStoreIn(database)).close()
  })

  it('rejects a file whose first page is overwritten', async () => {
    const database = await createFilledDatabase()
    const bytes = readFileSync(database.file)
    bytes.fill(0xaa, 100, 1_000)
    writeFileSync(database.file, bytes)
    await expectOpenFails(database, 'store.damaged')
  })

  it('rejects a newer version, and the error says to update Daybook', async () => {
    const database = await createFilledDatabase()
    edit(database, 'PRAGMA user_version = 99')
    await expectOpenFails(database, 'store.newer')
    await expect(openStoreIn(database)).rejects.toThrow('update Daybook')
  })

  it('rejects a newer version that is only in the write-ahead log, and does not merge the log', async () => {
    const database = await createFilledDatabase()
    const copy = { ...database, file: join(database.folder, 'copy', 'daybook.db') }
    mkdirSync(join(database.folder, 'copy'))
    const connection = new DatabaseSync(database.file)
    connection.exec('PRAGMA user_version = 99')
    for (const suffix of ['', '-wal']) copyFileSync(database.file + suffix, copy.file + suffix)
    connection.close()
    const before = [readFileSync(copy.file), readFileSync(`${copy.file}-wal`)]
    await expect(openStoreIn(copy)).rejects.toMatchObject({ code: 'store.newer' })
    expect([readFileSync(copy.file), readFileSync(`${copy.file}-wal`)]).toEqual(before)
  })

  it('creates the schema in an empty file, and fails with store.failed when the file can not be created', async () => {
    const database = await createFilledDatabase()
    truncateSync(database.file)
    await (await openStoreIn(database)).close()
    const inProc = { ...database, file: '/proc/daybook.db' }
    await expect(openStoreIn(inProc)).rejects.toMatchObject({ code: 'store.failed' })
    const underFile = { ...database, file: join(database.file, 'daybook.db') }
    await expect(openStoreIn(underFile)).rejects.toMatchObject({ code: 'store.failed' })
    expect(existsSync(underFile.file)).toBe(false)
  })

  it('two stores can open a new file at the same time', async () => {
    const database = createDatabaseFolder()
    folders.push(database)
    const [first, second] = await Promise.all([openStoreIn(database), openStoreIn(database)])
    await first.claim('c1', owner('a'))
    await expect(second.claim('c1', owner('b'))).rejects.toMatchObject({ code: 'conversation.busy' })
    await Promise.all([first.close(), second.close()])
  })
})

describe('timeline 11.14: loading a damaged conversation fails and overwrites nothing:', () => {
  const damages: Record<string, { readonly sql: string; readonly seq: number; readonly code?: string }> = {
    'a row that is not JSON': { sql: `UPDATE journal SET body = '{"type":' WHERE entry & 4294967295 = 5`, seq: 5 },
    'a row of an unknown type, which a newer version may have written': {
      sql: `UPDATE journal SET body = '{"type":"unknown.type"}' WHERE entry & 4294967295 = 5`,
      seq: 5,
      code: 'conversation.newer',
    },
    'a row whose block has no fields': {
      sql: `UPDATE journal SET body = '{"type":"blocks.appended","blocks":[{}]}' WHERE entry & 4294967295 = 3`,
      seq: 3,
    },
    'a row with a blob mark that names no blob': {
      sql: `UPDATE journal SET body = '{"type":"title.set","ts":"","title":{"$blob":1}}' WHERE entry & 4294967295 = 5`,
      seq: 5,
    },
    'a frame that is not JSON': { sql: `UPDATE frames SET body = 'oops'`, seq: 4 },
    'a frame whose blocks are missing': { sql: 'DELETE FROM journal WHERE entry & 4294967295 = 3', seq: 4 },
  }
  for (const [name, { sql, seq, code = 'store.damaged' }] of Object.entries(damages)) {
    it(name, async () => {
      const database = await createFilledDatabase()
      edit(database, sql)
      const store = await openStoreIn(database)
      await expect(store.loadVisible('c1')).rejects.toMatchObject({ code, details: { conversationId: 'c1', seq } })
      await store.close()
      const connection = new DatabaseSync(database.file, { readOnly: true })
      const after = connection.prepare('SELECT count(*) AS rows FROM journal').get()
      connection.close()
      expect(after).toEqual({ rows: name === 'a frame whose blocks are missing' ? 4 : 5 })
    })
  }

  it('a missing or changed blob', async () => {
    const database = await createFilledDatabase()
    const store = await openStoreIn(database)
    const [text] = readdirSync(database.blobs, { recursive: true, encoding: 'utf8' }).filter((name) => /\/[0-9a-f]{64}$/.test(name))
    const blob = join(database.blobs, text ?? '')
    const content = readFileSync(blob)
    unlinkSync(blob)
    const damaged = { code: 'store.damaged', details: { conversationId: 'c1', seq: 3 } }
    await expect(store.loadVisible('c1')).rejects.toMatchObject(damaged)
    await expect(store.findByTurn('c1', 't1')).rejects.toMatchObject(damaged)
    await expect(journalOf(store, 'c1')).rejects.toMatchObject(damaged)
    await expect(store.exportBundle('c1')).rejects.toMatchObject(damaged)
    writeFileSync(blob, 'forged')
    await expect(store.loadVisible('c1')).rejects.toMatchObject(damaged)
    writeFileSync(blob, content)
    expect(await visibleIds(store, 'c1')).toEqual(['b_3', 'b_2', 'b_4'])
    await store.close()
  })
})

it('a crash during the removal of blobs leaves extra blobs, never missing ones, and the next removal deletes them', async () => {
  const database = await createFilledDatabase()
  const files = createFileBlobs({ folder: database.blobs })
  let crashing = true
  const remove = async (sha256: string) => {
    await files.remove(sha256)
    if (crashing) throw new Error('the power went out')
  }
  const store = await createSqliteStore({ file: database.file, blobs: { ...files, remove }, clock: createSystemClock() })
  const texts = ['x', 'y'].map((letter) => prompt(letter.repeat(10_000)))
  await writeConversation(store, 'doomed', [appended(texts)])
  await expect(store.delete('doomed')).rejects.toThrow('the power went out')
  expect(await store.loadVisible('doomed')).toBeUndefined()
  // the crash has removed the blob of one of the texts, and has not recorded this
  await writeConversation(store, 'kept', [appended(texts.slice(0, 1))], [appended(texts.slice(1), 2)])
  crashing = false
  expect((await store.retain({})).blobs).toBe(0)
  expect((await store.findByTurn('kept', 't1')).map(({ text }) => text?.[0])).toEqual(['x', 'y'])
  await store.delete('kept')
  await store.delete('c1')
  expect(readdirSync(database.blobs, { recursive: true, encoding: 'utf8' }).filter((name) => name.length > 60)).toEqual([])
  await store.close()
})
