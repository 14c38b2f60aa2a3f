import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { createOwner } from '../../../../agent/conversation/claim.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import { LEASE_MS } from '../../../../ports/store.ts'
import { prompt } from '../../../../testing/blocks.ts'
import {
  accepted,
  appended,
  closed,
  folded,
  journalOf,
  opened,
  owner,
  waitingTurn,
  writeConversation,
} from '../../../../testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../../../testing/conformance/store/memory.ts'
import { createFixedClock } from '../../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../../blobs/memory.ts'
import { createSqliteStore } from '../store.ts'
import { APPLICATION_ID, migrations, SCHEMA_VERSION } from './schema.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-migration-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Creates a file in the format of schema version 1, with these journals. */
function firstVersion(name: string, journals: Readonly<Record<string, readonly Change[]>>): string {
  const file = join(folder, name)
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; ${migrations[0]}`)
  database.exec(`PRAGMA user_version = 1; PRAGMA application_id = ${APPLICATION_ID}`)
  const conversation = database.prepare('INSERT INTO conversations (key, id, last_seq, next_block, epoch) VALUES (?, ?, ?, 9, 1)')
  const entry = database.prepare("INSERT INTO journal VALUES (? << 32 | ?, ?, '', ?)")
  for (const [key, [id, changes]] of Object.entries(journals).entries()) {
    conversation.run(key + 1, id, changes.length)
    for (const [n, change] of changes.entries()) entry.run(key + 1, n + 1, change.type, JSON.stringify(change))
  }
  database.close()
  return file
}

function edit(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

const open = (file: string) => createSqliteStore({ file, blobs: createMemoryBlobs(), clock: createFixedClock() })

function look<T>(file: string, sql: string): T {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return database.prepare(sql).get() as T
  } finally {
    database.close()
  }
}

it('released steps are never changed: files of users depend on them', () => {
  const hashes = migrations.map((step) => createHash('sha256').update(step).digest('hex').slice(0, 16))
  expect(hashes).toEqual([
    '6df3d35c8ee27992',
    'd6257a07d682b888',
    'da54f99c78e6a20b',
    '5604f7ffa7680801',
    '199ec3c6de9cf951',
    '1e6fed8a7504050e',
    'aedfed39fa59cb3b',
    '642bd64ecf844348',
    '5efe493e74e624bc',
    'b9344552723bf504',
    '663bbeb6b8c3e69e',
    'c803d7edb1b4789c',
    'b958bc38741f266c',
    'b03981260d027ab5',
    '90dc630a040dbc74',
    '876762e4294dd0e9',
    '5924e19c9b56cde2',
    '5e149f666cd70fda',
  ])
})

const turn = [opened('t1', 1), appended([prompt('x', 't1', 1)]), closed('t1', 2)]

it('migrates a file of the first version: finds its waiting followups and keeps its journals', async () => {
  const journals = {
    waiting: [...turn, accepted('e1', 3), accepted('e2', 4, 'feedback'), accepted('e3', 5), folded(['e1'], 6, 't2'), accepted('e4', 7)],
    strange: [...turn, accepted('\ud83d "quoted"\u0000', 3)],
    again: [...turn, accepted('e1', 3), folded(['e1'], 4), accepted('e1', 5)],
    twice: [...turn, accepted('e1', 3), accepted('e1', 4), folded(['e1'], 5)],
    answered: [...turn, accepted('e1', 3), accepted('e2', 4), folded(['e2', 'e1'], 5, 't2')],
    others: [...turn, accepted('e1', 3, 'steer'), accepted('e2', 3, 'external')],
    quiet: turn,
  }
  const file = firstVersion('old.db', journals)
  const store = await open(file)
  const { conversations } = await store.list({ open: true })
  expect(Object.fromEntries(conversations.map(({ conversationId, waiting }) => [conversationId, waiting]))).toEqual({
    waiting: ['e3', 'e4'],
    strange: ['\ud83d "quoted"\u0000'],
    again: ['e1'],
  })
  for (const [id, changes] of Object.entries(journals)) {
    expect((await journalOf(store, id)).map(({ change }) => change)).toEqual(changes)
  }
  const claim = await store.claim('waiting', owner('a'))
  await store.append(claim, [folded(['e3'], 8, 't3')])
  expect((await store.list({ open: true })).conversations.find(({ conversationId }) => conversationId === 'waiting')?.waiting).toEqual([
    'e4',
  ])
  await store.close()
  expect(look(file, 'PRAGMA user_version')).toEqual({ user_version: SCHEMA_VERSION })
  const reopened = await open(file)
  expect((await reopened.list({ open: true })).conversations).toHaveLength(3)
  await reopened.close()
})

it('a turn that an older version opened is open work after the migration, even when that version still writes to the file', async () => {
  const file = firstVersion('open.db', { c1: turn.slice(0, 2), c2: turn })
  edit(file, "UPDATE conversations SET open_turn = 't1' WHERE id = 'c1'")
  const store = await open(file)
  const listed = async () => (await store.list({ open: true })).conversations.map(({ conversationId }) => conversationId).toSorted()
  expect(await listed()).toEqual(['c1'])
  edit(file, "UPDATE conversations SET open_turn = 't2' WHERE id = 'c2'") // the columns that version 5 writes
  expect(await listed()).toEqual(['c1', 'c2'])
  const claim = await store.claim('c1', owner('a'))
  await store.append(claim, [waitingTurn('t1', 3, [{ wait_id: 'w1', kind: 'approval' }])])
  expect(await listed()).toEqual(['c2'])
  await store.close()
})

it('migrates the other conversations when one is damaged', async () => {
  const file = firstVersion('damaged.db', { c1: [...turn, accepted('e1', 3)], c2: [...turn, accepted('e1', 3)] })
  edit(file, "UPDATE journal SET body = '{' WHERE type = 'event.accepted' AND entry >> 32 = 1")
  const store = await open(file)
  expect((await store.list({ open: true })).conversations).toMatchObject([{ conversationId: 'c2' }])
  await expect(store.loadVisible('c1')).rejects.toMatchObject({ code: 'store.damaged' })
  await store.close()
})

it('leaves a file of the first version unchanged when a step fails', async () => {
  const file = firstVersion('stubborn.db', { c1: [...turn, accepted('e1', 3)] })
  edit(file, "CREATE TRIGGER stubborn BEFORE UPDATE ON conversations BEGIN SELECT RAISE(ABORT, 'not today'); END")
  await expect(open(file)).rejects.toThrow('not today')
  expect(look(file, 'PRAGMA user_version')).toEqual({ user_version: 1 })
  expect(look(file, "SELECT count(*) AS n FROM pragma_table_info('conversations') WHERE name = 'waiting'")).toEqual({ n: 0 })
})

it('migrates once when two processes open an old file at the same time', async () => {
  const file = firstVersion('both.db', { c1: [...turn, accepted('e1', 3)] })
  const stores = await Promise.all([open(file), open(file)])
  for (const store of stores) expect((await store.list({ open: true })).conversations).toMatchObject([{ waiting: ['e1'] }])
  for (const store of stores) await store.close()
})

const deadPid = 2 ** 30 // no process has such a large pid

it.skipIf(process.platform !== 'linux')(
  'a lease of an older version counts until it expires: its pid may belong to another namespace',
  async () => {
    const file = firstVersion('leased.db', { c1: turn })
    const clock = createFixedClock()
    const expiresAt = new Date(Date.parse(clock.now()) + LEASE_MS).toISOString()
    edit(
      file,
      `UPDATE conversations SET owner_id = 'old', owner_host = '${hostname()}', owner_pid = ${deadPid}, lease_expires_at = '${expiresAt}'`,
    )
    const store = await createSqliteStore({ file, blobs: createMemoryBlobs(), clock })
    await expect(store.claim('c1', createOwner(clock))).rejects.toMatchObject({ code: 'conversation.busy', details: { expiresAt } })
    clock.advance(LEASE_MS)
    await store.claim('c1', createOwner(clock))
    await store.close()
  },
)

it('an owner of an older version that stayed open is not judged by the process of the owner before it', async () => {
  const file = join(folder, 'mixed.db')
  const clock = createFixedClock()
  const store = await createSqliteStore({ file, blobs: createMemoryBlobs(), clock })
  await store.claim('c1', { ...createOwner(clock), startedAt: '1' }) // an owner with a wrong start time: its process counts as dead
  const expiresAt = new Date(Date.parse(clock.now()) + LEASE_MS).toISOString()
  // Changes the columns that schema version 2 writes when it takes a claim.
  edit(file, `UPDATE conversations SET epoch = 99, owner_id = 'old', owner_pid = ${process.pid}, lease_expires_at = '${expiresAt}'`)
  await expect(store.claim('c1', createOwner(clock))).rejects.toMatchObject({ details: { owner: { id: 'old' } } })
  await store.close()
})

/** Removes what versions 16 and 18 have added. */
const WITHOUT_WORK_LIST = `
  DROP TABLE reservations; DROP TABLE budgets;
  DROP INDEX conversations_to_claim; DROP INDEX conversations_by_claim_time; DROP INDEX conversations_parked; DROP TABLE tenants;
  ${['free_at', 'tenant', 'offered_at', 'failure', 'parked_at', 'retry_at', 'attempt_seq', 'attempts']
    .map((column) => `ALTER TABLE conversations DROP COLUMN ${column};`)
    .join(' ')}`

/** Removes what version 17 has added. */
const WITHOUT_RECEIPTS = 'DROP TABLE receipts; DROP TABLE receipt_counts; DROP TABLE receipt_conversations; DROP TABLE receipt_blobs;'

it('builds the memory index of an older version again', async () => {
  const file = join(folder, 'older-terms.db')
  const store = await open(file)
  await writeConversation(store, 'c1', [opened('t1'), appended([prompt('the soft har\u00adbour')]), closed('t1')])
  await memoryOf(store).catchUp()
  await store.close()
  // as an older version would have indexed it: the word is in two parts
  edit(
    file,
    `DELETE FROM memory_postings; INSERT INTO memory_vectors VALUES (1 << 32, 1, x'00'); DROP TABLE schedules; PRAGMA user_version = 13`,
  )
  edit(file, WITHOUT_WORK_LIST + WITHOUT_RECEIPTS)
  const migrated = await open(file)
  expect(look(file, 'SELECT count(*) AS rows FROM memory_vectors')).toEqual({ rows: 0 })
  expect((await memoryOf(migrated).search('harbour', inConversation('c1'))).length).toBe(1)
  await migrated.close()
})
