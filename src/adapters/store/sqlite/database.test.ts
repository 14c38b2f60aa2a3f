import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openDatabase } from './database.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-database-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function open(name: string) {
  const database = await openDatabase(join(folder, name))
  const count = database.readStatement<{ value: number }>("SELECT value FROM counters WHERE name = 'claims'")
  const add = database.writeStatement("UPDATE counters SET value = value + 1 WHERE name = 'claims'")
  return { database, add, read: () => database.read(() => count.get()?.value) }
}

const [NORMAL, FULL] = [1, 2]

it('every commit waits for the disk, except those of unsynced writes', async () => {
  const { database, add } = await open('synced.db')
  const setting = database.writeStatement<{ synchronous: number }>('PRAGMA synchronous')
  const write = () => {
    add.run()
    return setting.get()?.synchronous
  }
  expect(await database.writeUnsynced(write)).toBe(NORMAL)
  expect(await database.write(write)).toBe(FULL)
  expect(await database.writeTogether(write)).toBe(FULL)
  const mixed = [database.writeUnsynced(write), database.writeTogether(write), database.writeUnsynced(write), database.write(write)]
  expect(await Promise.all(mixed)).toEqual([NORMAL, FULL, NORMAL, FULL])
  await database.close()
})

it('a read sees what is committed, whether a transaction runs or not', async () => {
  const { database, add, read } = await open('reads.db')
  const seen = [read()]
  await database.write(async () => {
    add.run()
    seen.push(read())
    await new Promise((resolve) => setImmediate(resolve))
    add.run()
    seen.push(read())
  })
  seen.push(read())
  await expect(
    database.write(() => {
      add.run()
      seen.push(read())
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  seen.push(read())
  expect(seen).toEqual([0, 0, 0, 2, 2, 2])
  await database.close()
})

it('a read has one snapshot, also with another read inside and while another connection writes', async () => {
  const { database, read } = await open('snapshot.db')
  const other = await open('snapshot.db')
  const count = database.readStatement<{ value: number }>("SELECT value FROM counters WHERE name = 'claims'")
  await other.database.write(() => void other.add.run())
  const values = database.read(() => [count.get()?.value, read(), count.get()?.value])
  expect(values).toEqual([1, 1, 1])
  await other.database.write(() => void other.add.run())
  expect(read()).toBe(2)
  await Promise.all([database.close(), other.database.close()])
})
