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
} from '../../src/testing/conformance/store-fixture.ts'
import { createDatabaseFolder, type DatabaseFolder, openStoreIn } from './children.ts'

const places: DatabaseFolder[] = []
afterAll(() => {
  for (const { folder } of places) rmSync(folder, { recursive: true, force: true })
})

/** A closed database with one conversation: five entries, one of them with a large text. */
async function filled(): Promise<DatabaseFolder> {
  const place = createDatabaseFolder()
  places.push(place)
  const store = await openStoreIn(place)
  await writeConversation(
    store,
    'c1',
    [opened('t1'), appended([prompt('a')]), appended([prompt('long '.repeat(4_000))], 2)],
    [compacted('b_1', 3), appended([prompt('b')], 4)],
  )
  await store.close()
  return place
}

/** Name and bytes of every file: what must not change. */
function snapshot({ folder }: DatabaseFolder): Readonly<Record<string, string>> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name)).toString('base64')]),
  )
}

function edit({ file }: DatabaseFolder, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

async function refusesUntouched(place: DatabaseFolder, code: string): Promise<void> {
  const before = snapshot(place)
  await expect(openStoreIn(place)).rejects.toMatchObject({ name: 'Failure', code })
  expect(snapshot(place)).toEqual(before)
}

describe('opening', () => {
  it('leaves one file behind when closed: the log is merged', async () => {
    const { folder } = await filled()
    expect(readdirSync(folder).sort()).toEqual(['blobs', 'daybook.db'])
  })

  it('refuses a file that is no database, and leaves it byte for byte', async () => {
    const place = await filled()
    writeFileSync(place.file, 'Dear diary, '.repeat(1_000))
    await refusesUntouched(place, 'store.damaged')
  })

  it('refuses a database of another program', async () => {
    const place = await filled()
    unlinkSync(place.file)
    edit(place, 'CREATE TABLE recipes (name TEXT)')
    await refusesUntouched(place, 'store.damaged')
  })

  it('refuses a file that was cut short, wherever', async () => {
    const place = await filled()
    const whole = readFileSync(place.file)
    for (const length of [1, 99, 2_048, whole.length - 2_048, whole.length - 1]) {
      writeFileSync(place.file, whole.subarray(0, length))
      await refusesUntouched(place, 'store.damaged')
    }
    writeFileSync(place.file, whole)
    await (await openStoreIn(place)).close()
  })

  it('refuses a file whose first page is scrambled', async () => {
    const place = await filled()
    const bytes = readFileSync(place.file)
    bytes.fill(0xaa, 100, 1_000)
    writeFileSync(place.file, bytes)
    await refusesUntouched(place, 'store.damaged')
  })

  it('refuses a newer version, and says what to do', async () => {
    const place = await filled()
    edit(place, 'PRAGMA user_version = 99')
    await refusesUntouched(place, 'store.newer')
    await expect(openStoreIn(place)).rejects.toThrow('update Daybook')
  })

  it('refuses a newer version that a crash left in the log, and merges nothing', async () => {
    const place = await filled()
    const copy = { ...place, file: join(place.folder, 'copy', 'daybook.db') }
    mkdirSync(join(place.folder, 'copy'))
    const database = new DatabaseSync(place.file)
    database.exec('PRAGMA user_version = 99')
    for (const suffix of ['', '-wal']) copyFileSync(place.file + suffix, copy.file + suffix)
    database.close()
    const before = [readFileSync(copy.file), readFileSync(`${copy.file}-wal`)]
    await expect(openStoreIn(copy)).rejects.toMatchObject({ code: 'store.newer' })
    expect([readFileSync(copy.file), readFileSync(`${copy.file}-wal`)]).toEqual(before)
  })

  it('makes the schema in an empty file, and says so when there can be no file', async () => {
    const place = await filled()
    truncateSync(place.file)
    await (await openStoreIn(place)).close()
    const nowhere = { ...place, file: '/proc/daybook.db' }
    await expect(openStoreIn(nowhere)).rejects.toMatchObject({ code: 'store.failed' })
    const underFile = { ...place, file: join(place.file, 'daybook.db') }
    await expect(openStoreIn(underFile)).rejects.toMatchObject({ code: 'store.failed' })
    expect(existsSync(underFile.file)).toBe(false)
  })

  it('lets two open a new file at once', async () => {
    const place = createDatabaseFolder()
    places.push(place)
    const [first, second] = await Promise.all([openStoreIn(place), openStoreIn(place)])
    await first.claim('c1', owner('a'))
    await expect(second.claim('c1', owner('b'))).rejects.toMatchObject({ code: 'conversation.busy' })
    await Promise.all([first.close(), second.close()])
  })
})

describe('timeline 11.14: what can not be read ends the load, and nothing is overwritten', () => {
  const damages: Record<string, { readonly sql: string; readonly seq: number }> = {
    'a row that is not JSON': { sql: `UPDATE journal SET body = '{"type":' WHERE entry & 4294967295 = 5`, seq: 5 },
    'a row of a type that nobody knows': { sql: `UPDATE journal SET body = '{"type":"never.heard"}' WHERE entry & 4294967295 = 5`, seq: 5 },
    'a row whose block lost its fields': {
      sql: `UPDATE journal SET body = '{"type":"blocks.appended","blocks":[{}]}' WHERE entry & 4294967295 = 3`,
      seq: 3,
    },
    'a row with a mark that marks nothing': {
      sql: `UPDATE journal SET body = '{"type":"title.set","ts":"","title":{"$blob":1}}' WHERE entry & 4294967295 = 5`,
      seq: 5,
    },
    'a frame that is not JSON': { sql: `UPDATE frames SET body = 'oops'`, seq: 4 },
    'a frame whose blocks are gone': { sql: 'DELETE FROM journal WHERE entry & 4294967295 = 3', seq: 4 },
  }
  for (const [name, { sql, seq }] of Object.entries(damages)) {
    it(name, async () => {
      const place = await filled()
      edit(place, sql)
      const store = await openStoreIn(place)
      await expect(store.loadVisible('c1')).rejects.toMatchObject({ code: 'store.damaged', details: { conversationId: 'c1', seq } })
      await store.close()
      const database = new DatabaseSync(place.file, { readOnly: true })
      const after = database.prepare('SELECT count(*) AS rows FROM journal').get()
      database.close()
      expect(after).toEqual({ rows: name === 'a frame whose blocks are gone' ? 4 : 5 })
    })
  }

  it('a blob that is missing, or that changed', async () => {
    const place = await filled()
    const store = await openStoreIn(place)
    const [text] = readdirSync(place.blobs, { recursive: true, encoding: 'utf8' }).filter((name) => /\/[0-9a-f]{64}$/.test(name))
    const blob = join(place.blobs, text ?? '')
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

it('a crash while blobs are being removed leaves too many, never too few, and the next removal takes them', async () => {
  const place = await filled()
  const files = createFileBlobs({ folder: place.blobs })
  let crashes = true
  const remove = async (sha256: string) => {
    await files.remove(sha256)
    if (crashes) throw new Error('the power went out')
  }
  const store = await createSqliteStore({ file: place.file, blobs: { ...files, remove }, clock: createSystemClock() })
  const texts = ['x', 'y'].map((letter) => prompt(letter.repeat(10_000)))
  await writeConversation(store, 'doomed', [appended(texts)])
  await expect(store.delete('doomed')).rejects.toThrow('the power went out')
  expect(await store.loadVisible('doomed')).toBeUndefined()
  await writeConversation(store, 'kept', [appended(texts.slice(0, 1))], [appended(texts.slice(1), 2)]) // one of them was removed, and not yet forgotten
  crashes = false
  expect((await store.retain({})).blobs).toBe(0)
  expect((await store.findByTurn('kept', 't1')).map(({ text }) => text?.[0])).toEqual(['x', 'y'])
  await store.delete('kept')
  await store.delete('c1')
  expect(readdirSync(place.blobs, { recursive: true, encoding: 'utf8' }).filter((name) => name.length > 60)).toEqual([])
  await store.close()
})
