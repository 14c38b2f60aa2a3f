import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { conversationKey } from '../../src/core/scope.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import type { StoreSettings } from '../../src/wiring/storage.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { startS3 } from '../support/s3-server.ts'
import { doomed, marker, openPlanted, other, plant } from './planted.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-delete-owner-'))
const server = hasPostgres ? await startPostgres() : undefined
const bucket = await startS3(join(root, 's3'))
afterAll(async () => {
  await bucket.stop()
  await server?.stop()
  rmSync(root, { recursive: true, force: true })
})

/** The tables of a database: their number of rows, and those whose rows contain the marker. */
interface Tables {
  readonly rows: Readonly<Record<string, number>>
  readonly withMarker: readonly string[]
}

function sqliteTables(file: string): Tables {
  const database = new DatabaseSync(file, { readOnly: true })
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all() as {
    name: string
  }[]
  const rows = Object.fromEntries(names.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()]))
  database.close()
  return tablesOf(rows)
}

async function postgresTables(url: string): Promise<Tables> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=daybook' })
  await client.connect()
  const names = await client.query(
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'daybook' AND table_type = 'BASE TABLE'",
  )
  const rows: Record<string, object[]> = {}
  for (const { table_name: name } of names.rows) rows[name] = (await client.query(`SELECT * FROM "${name}"`)).rows
  await client.end()
  return tablesOf(rows)
}

function tablesOf(tables: Readonly<Record<string, readonly object[]>>): Tables {
  const texts = (row: object) =>
    Object.values(row).map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
  const hasMarker = (rows: readonly object[]) => rows.some((row) => texts(row).some((text) => text.toLowerCase().includes(marker)))
  return {
    rows: Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, rows.length])),
    withMarker: Object.entries(tables).flatMap(([name, rows]) => (hasMarker(rows) ? [name] : [])),
  }
}

/** The paths below a folder, and those of them whose name or content contains the marker. */
function pathsIn(folder: string): { readonly files: readonly string[]; readonly withMarker: readonly string[] } {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => ({
    path: join(entry.parentPath, entry.name),
    isFile: entry.isFile(),
  }))
  const contains = ({ path, isFile }: (typeof entries)[number]) =>
    path.toLowerCase().includes(marker) || (isFile && readFileSync(path).toString('latin1').toLowerCase().includes(marker))
  return {
    files: entries.filter(({ isFile }) => isFile).map(({ path }) => path),
    withMarker: entries.filter(contains).map(({ path }) => path),
  }
}

interface Place {
  readonly settings: StoreSettings
  readonly tables: () => Promise<Tables>
  /** How many blobs and hosted files there are. */
  readonly objects: () => Promise<{ readonly blobs: number; readonly hosted: number }>
  /** Folders without a trace of the user after the deletion. */
  readonly folders: readonly string[]
}

let places = 0
const newFolder = () => join(root, `place-${++places}`)
const countFiles = (folder: string, isCounted = (_: string) => true) => pathsIn(folder).files.filter(isCounted).length

async function sqlitePlace(workspace: 'custom' | 'git'): Promise<Place> {
  const data = newFolder()
  return {
    settings: { data, store: 'sqlite', workspace },
    tables: async () => sqliteTables(join(data, 'daybook.db')),
    objects: async () => ({ blobs: countFiles(join(data, 'blobs')), hosted: countFiles(join(data, 'hosted')) }),
    folders: [data],
  }
}

async function postgresPlace(): Promise<Place> {
  const databaseUrl = (await server?.createDatabase()) ?? ''
  const data = newFolder()
  const query = async (sql: string) => {
    const client = new pg.Client({ connectionString: databaseUrl, options: '-c search_path=daybook' })
    await client.connect()
    const { rows } = await client.query(sql)
    await client.end()
    return Number(rows[0].count)
  }
  return {
    settings: { data, store: 'sqlite', workspace: 'custom', databaseUrl },
    tables: () => postgresTables(databaseUrl),
    objects: async () => ({
      blobs: await query('SELECT count(DISTINCT sha256) FROM blobs'),
      hosted: await query('SELECT count(*) FROM objects'),
    }),
    folders: [data],
  }
}

async function bucketPlace(): Promise<Place> {
  const databaseUrl = (await server?.createDatabase()) ?? ''
  const data = newFolder()
  const folder = join(root, 's3', 'daybook-test')
  const isObject = (path: string) => path.endsWith('._S3rver_object')
  return {
    settings: { data, store: 'sqlite', workspace: 'custom', databaseUrl, s3: { addressing: 'path', ...bucket.options } },
    tables: () => postgresTables(databaseUrl),
    objects: async () => ({
      blobs: countFiles(folder, (path) => isObject(path) && path.includes('daybook/blobs')),
      hosted: countFiles(folder, (path) => isObject(path) && path.includes('daybook/tenants')),
    }),
    folders: [data, folder],
  }
}

/** Tables whose rows are counted as files, and the tables of receipts. */
const notCounted = new Set(['blobs', 'objects', 'receipts', 'receipt_counts'])

const removedRows = (before: Tables, after: Tables) =>
  Object.fromEntries(
    Object.entries(before.rows).flatMap(([name, rows]) => {
      const removed = rows - (after.rows[name] ?? 0)
      return removed === 0 || notCounted.has(name) ? [] : [[name, removed]]
    }),
  )

const kinds: readonly (readonly [name: string, open: () => Promise<Place>, needsServer: boolean])[] = [
  ['a folder with SQLite', () => sqlitePlace('custom'), false],
  ['a folder with SQLite and git', () => sqlitePlace('git'), false],
  ['PostgreSQL', postgresPlace, true],
  ['PostgreSQL and a bucket', bucketPlace, true],
]

describe.each(kinds.filter(([, , needsServer]) => !needsServer || hasPostgres))('%s', (_name, openPlace) => {
  it('deleting a user leaves no trace, and the receipt has the number of rows, blobs and files that are gone', async () => {
    const place = await openPlace()
    await plant(place.settings)
    const { agent, close } = await openPlanted(place.settings)
    const [before, objects] = [await place.tables(), await place.objects()]
    const working = countFiles(join(place.settings.data, 'workspaces'))
    expect(before.withMarker.length).toBeGreaterThan(3)
    const { receipt, prefixes } = await agent.archive.deleteOwner(doomed)
    const [after, objectsAfter] = [await place.tables(), await place.objects()]

    expect(after.withMarker).toEqual([])
    expect(place.folders.flatMap((folder) => pathsIn(folder).withMarker)).toEqual([]) // also while the database is open
    expect(receipt.tables).toEqual(removedRows(before, after))
    expect(receipt.tables).toMatchObject({ conversations: 4, offers: 1, schedules: 1, tenants: 1, budgets: 2 })
    expect(receipt.files).toEqual({
      blobs: objects.blobs - objectsAfter.blobs,
      hosted: objects.hosted - objectsAfter.hosted,
      working: working - countFiles(join(place.settings.data, 'workspaces')),
    })
    expect(receipt.files.blobs > 0 && receipt.files.hosted > 0 && receipt.files.working > 0).toBe(true)
    expect(receipt.remains.find(({ what }) => what === 'shared blobs')).toMatchObject({ count: 1 })
    expect(prefixes.every((prefix) => prefix.includes(marker))).toBe(true)

    const { blocks } = await agent.archive.timeline(conversationKey(other, 'files-kept'))
    expect(blocks.length).toBeGreaterThan(10)
    expect(await agent.archive.deleteOwner(doomed)).toEqual({ receipt, prefixes }) // nothing is left: the same receipt
    await close()
    expect(place.folders.flatMap((folder) => pathsIn(folder).withMarker)).toEqual([])
  })

  it('deleting a tenant deletes all its users, and a later deletion has a receipt of its own', async () => {
    const place = await openPlace()
    await plant(place.settings)
    const { agent, close } = await openPlanted(place.settings, [reply.answer('Hello.')])
    const before = await place.tables()
    const { receipt } = await agent.archive.deleteOwner({ tenant: other.tenant })
    expect(receipt.tables).toEqual(removedRows(before, await place.tables()))
    expect((await place.tables()).withMarker).toEqual(before.withMarker)
    await agent.run(conversationKey(other, 'new'), 'Hi.').result
    const again = await agent.archive.deleteOwner({ tenant: other.tenant })
    expect(again.receipt.receiptId).not.toBe(receipt.receiptId)
    expect(again.receipt.tables.conversations).toBe(1)
    await close()
  })

  it('a turn that another process runs is stopped first', async () => {
    const { settings } = await openPlace()
    const started = Promise.withResolvers<void>()
    const running = await openPlanted(settings, [reply.call('wait.until', {}), reply.answer('Done.')], started.resolve)
    const key = conversationKey(doomed, 'runs')
    const result = running.agent.run(key, 'go').result.catch((error: unknown) => error)
    await started.promise
    const { agent, close } = await openPlanted(settings)
    const { receipt } = await agent.archive.deleteOwner(doomed)
    expect(receipt.tables.conversations).toBe(1)
    await expect(agent.archive.head(key)).rejects.toMatchObject({ code: 'conversation.missing' })
    await result
    await running.close()
    await close()
  })
})

it('the local user is deleted without those of other tenants', async () => {
  const { settings } = await sqlitePlace('custom')
  await plant(settings)
  const { agent, close } = await openPlanted(settings)
  await agent.archive.create('plain', 'Local')
  await agent.archive.create('odd/name', 'Local, too') // a key without a tenant belongs to the local user
  const { receipt } = await agent.archive.deleteOwner({ tenant: 'local', project: 'default', user: 'local' })
  expect(receipt.tables.conversations).toBe(2)
  expect((await agent.archive.list({})).conversations).toHaveLength(6)
  await close()
})
