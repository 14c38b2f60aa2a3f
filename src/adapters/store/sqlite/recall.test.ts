import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, expect, it, vi } from 'vitest'
import { minute, prompt } from '../../../testing/blocks.ts'
import { appended, closed, compacted, opened, writeConversation } from '../../../testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../../testing/conformance/store/memory.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { createSqliteStore } from './store.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-memory-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const blobs = createMemoryBlobs()
const open = (file: string) => createSqliteStore({ file, blobs, clock: createFixedClock() })

const tables = ['owners', 'snippets', 'documents', 'postings', 'turns', 'vectors', 'behind'].map((name) => `memory_${name}`)

function countRows(file: string, table: string): number {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return (database.prepare(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }).rows
  } finally {
    database.close()
  }
}

it('an append does not write the memory index, which follows after the end of the turn', async () => {
  const file = join(folder, 'later.db')
  const store = await open(file)
  await writeConversation(store, 'c1', [opened('t1'), appended([prompt('a harbour')])])
  expect(countRows(file, 'memory_snippets')).toBe(0)
  await writeConversation(store, 'c2', [opened('t1'), appended([prompt('a bridge')]), closed('t1')])
  expect(countRows(file, 'memory_snippets')).toBe(0)
  await vi.waitFor(() => expect(countRows(file, 'memory_snippets')).toBe(1), { timeout: 30_000 })
  expect((await memoryOf(store).search('harbour', inConversation('c1'))).length).toBe(1)
  expect(countRows(file, 'memory_snippets')).toBe(2)
  await store.close()
})

/** The number of commits in the write-ahead log. The last frame of a commit has the size of the database in its bytes 4 to 8. */
function commitsIn(file: string): number {
  const log = readFileSync(`${file}-wal`)
  const frameBytes = 24 + log.readUInt32BE(8)
  const frames = Array.from({ length: Math.floor((log.length - 32) / frameBytes) }, (_, n) => 32 + n * frameBytes)
  return frames.filter((at) => log.readUInt32BE(at + 4) > 0).length
}

it('few entries of many conversations are indexed in few commits', async () => {
  const file = join(folder, 'many.db')
  const store = await open(file)
  const ids = Array.from({ length: 60 }, (_, n) => `c${n}`)
  for (const id of ids) await writeConversation(store, id, [opened('t1'), appended([prompt(`river ${id}`)])])
  const before = commitsIn(file)
  expect(await memoryOf(store).catchUp()).toBe(ids.length)
  expect(commitsIn(file) - before).toBeLessThan(5)
  expect(countRows(file, 'memory_snippets')).toBe(ids.length)
  expect(countRows(file, 'memory_behind')).toBe(0)
  await store.close()
})

it('entries that are appended while others are indexed are left for the next time', async () => {
  const file = join(folder, 'running.db')
  const store = await open(file)
  const claim = await writeConversation(store, 'c1', [opened('t1'), appended([prompt('number 1')])])
  let last = 1
  let isDone = false
  const appending = (async () => {
    while (!isDone) {
      await store.append(claim, [appended([prompt(`number ${++last}`)], last)])
      await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  await memoryOf(store).catchUp()
  isDone = true
  await appending
  expect(countRows(file, 'memory_snippets')).toBeLessThan(last)
  expect(countRows(file, 'memory_behind')).toBe(1)
  await memoryOf(store).catchUp()
  expect(countRows(file, 'memory_snippets')).toBe(last)
  expect(countRows(file, 'memory_behind')).toBe(0)
  await store.close()
})

it('deleted conversations, including those of sub-agents, leave nothing in any table of the index', async () => {
  const file = join(folder, 'deleted.db')
  const store = await open(file)
  const { vectors, catchUp } = memoryOf(store)
  const ids = ['acme/web/ann/c1', 'acme/web/ann/c1~call_0123456789ab', 'acme/web/bob/c1', 'c1']
  for (const [n, id] of ids.entries()) {
    const text = `secret${n} ${'long words of a text '.repeat(200)}`
    const claim = await writeConversation(store, id, [opened('t1'), appended([prompt(text)]), closed('t1')])
    await store.release(claim)
  }
  await catchUp()
  const model = await vectors.choose({ name: 'one', dimensions: 2 })
  const missing = (await vectors.missing(model, 100)) ?? []
  await vectors.save(
    model,
    missing.map(({ owner, number }) => ({ owner, number, vector: Float32Array.of(1, 0) })),
  )
  expect(tables.filter((table) => countRows(file, table) === 0)).toEqual(['memory_behind'])
  await writeConversation(store, 'c1', [opened('t2'), appended([prompt('not indexed yet', 't2')], 9)])
  for (const id of ids) {
    const claim = await store.claim(id, { id: 'last', host: 'h', pid: 1 }, { takeOver: 'always' })
    await store.release(claim)
    await store.delete(id)
  }
  expect(tables.filter((table) => countRows(file, table) > 0)).toEqual([])
  await store.close()
})

it('a conversation that can not be read does not prevent a search in the others', async () => {
  const file = join(folder, 'damaged.db')
  const store = await open(file)
  for (const id of ['c1', 'c2', 'c3']) await writeConversation(store, id, [opened('t1'), appended([prompt(`river ${id}`)])])
  const database = new DatabaseSync(file)
  database.exec("UPDATE journal SET body = '{' WHERE entry >> 32 = (SELECT key FROM conversations WHERE id = 'c2')")
  database.close()
  const user = { tenant: 'local', project: 'default', user: 'local' }
  const found = await memoryOf(store).search('river', inConversation('', { within: { user } }))
  expect(found.map(({ text }) => text).sort()).toEqual(['river c1', 'river c3'])
  await expect(memoryOf(store).search('river', inConversation('c2'))).rejects.toMatchObject({ code: 'store.damaged' })
  await store.close()
})

/** Texts that are hard to store or to split into words. */
const strangeText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc
    .array(
      fc.constantFrom(
        '\ud800',
        '\udc00',
        '\u0000',
        '\u200b',
        '\u202e',
        'שלום',
        '東京',
        '한국'.normalize('NFD'),
        '🎂',
        '"',
        '*',
        'NEAR(a b)',
        "'--",
      ),
      {
        maxLength: 40,
      },
    )
    .map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => `x${text}y`.repeat(100)),
)

it('any text is indexed, searched and removed without a trace', { timeout: 120_000 }, async () => {
  const store = await open(join(folder, 'strange.db'))
  let indexed = 0
  await fc.assert(
    fc.asyncProperty(fc.array(strangeText, { minLength: 1, maxLength: 4 }), strangeText, async (texts, question) => {
      const turns = texts.map((text, n) => [opened(`t${n}`, n), appended([prompt(text, `t${n}`, n)], n + 1), closed(`t${n}`, n)])
      const claim = await writeConversation(store, 'acme/web/ann/c1', ...turns)
      for (const each of [question, ...texts]) await memoryOf(store).search(each, inConversation('acme/web/ann/c1'))
      indexed += countRows(join(folder, 'strange.db'), 'memory_postings')
      await store.release(claim)
      await store.delete('acme/web/ann/c1')
      expect(tables.filter((table) => countRows(join(folder, 'strange.db'), table) > 0)).toEqual([])
    }),
    { numRuns: 60 },
  )
  expect(indexed).toBeGreaterThan(50)
  await store.close()
})

it('a tenant that is deleted while it is indexed and gets vectors leaves nothing behind', { timeout: 120_000 }, async () => {
  const file = join(folder, 'tenant.db')
  const [one, two] = [await open(file), await open(file)]
  const ids = Array.from({ length: 6 }, (_, n) => `gone/web/u${n % 2}/c${n}`)
  for (const id of [...ids, 'kept/web/u/c1']) {
    const turns = Array.from({ length: 40 }, (_, n) => [
      opened(`t${n}`, n),
      appended([prompt(`secret ${n} ${'long words of a text '.repeat(50)}`, `t${n}`, n)], n + 1),
      closed(`t${n}`, n),
    ])
    await one.release(await writeConversation(one, id, ...turns))
  }
  const { vectors } = memoryOf(two)
  const model = await vectors.choose({ name: 'one', dimensions: 2 })
  let working = true
  const embedding = (async () => {
    while (working) {
      const some = (await vectors.missing(model, 16)) ?? []
      await new Promise((resolve) => setImmediate(resolve))
      await vectors.save(
        model,
        some.map(({ owner, number }) => ({ owner, number, vector: Float32Array.of(1, 0) })),
      )
    }
  })()
  const indexing = [memoryOf(one).catchUp(), memoryOf(two).catchUp()]
  for (const id of ids) await one.delete(id)
  const results = await Promise.allSettled(indexing)
  working = false
  await embedding
  expect(results.filter(({ status }) => status === 'rejected')).toEqual([])
  await memoryOf(two).catchUp()
  const database = new DatabaseSync(file, { readOnly: true })
  expect(database.prepare('SELECT folder FROM memory_owners').all()).toEqual([{ folder: 'kept/web/u/' }])
  expect(database.prepare('SELECT DISTINCT owner FROM memory_postings').all().length).toBe(1)
  expect(database.prepare("SELECT count(*) AS rows FROM memory_snippets WHERE body NOT LIKE 'secret%'").get()).toEqual({ rows: 0 })
  expect(
    database.prepare('SELECT count(*) AS rows FROM memory_vectors WHERE snippet NOT IN (SELECT snippet FROM memory_snippets)').get(),
  ).toEqual({
    rows: 0,
  })
  expect(database.prepare('SELECT count(DISTINCT conversation) AS conversations FROM memory_snippets').get()).toEqual({ conversations: 1 })
  database.close()
  for (const store of [one, two]) await store.close()
})

/**
 * A store in which every read of a blob waits until `goOn` is called. `isReading` resolves when a read begins. Large texts are in blobs.
 */
async function slowStore(name: string) {
  const memory = createMemoryBlobs()
  const [reading, goingOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = {
    ...memory,
    async get(sha256: string) {
      const bytes = await memory.get(sha256)
      reading.resolve()
      await goingOn.promise
      return bytes
    },
  }
  const store = await createSqliteStore({ file: join(folder, name), blobs: slow, clock: createFixedClock() })
  return { store, isReading: reading.promise, goOn: goingOn.resolve }
}

const largeText = 'lantern '.repeat(50_000)

it('a conversation that is deleted and created again while it is indexed has nothing of the old one', async () => {
  const { store, isReading, goOn } = await slowStore('again.db')
  const write = async (text: string) =>
    store.release(await writeConversation(store, 'c1', [opened('t1'), appended([prompt(text)]), closed('t1')]))
  await write(largeText)
  const indexing = memoryOf(store).catchUp()
  await isReading
  await store.delete('c1')
  await write('harbour')
  goOn()
  await indexing
  expect(await memoryOf(store).search('lantern', inConversation('c1'))).toEqual([])
  expect(await memoryOf(store).search('harbour', inConversation('c1'))).toMatchObject([{ text: 'harbour' }])
  await store.close()
})

it('entries that are removed while they are indexed are not found', async () => {
  const { store, isReading, goOn } = await slowStore('removed.db')
  const claim = await writeConversation(store, 'c1', [
    opened('t1'),
    appended([prompt(largeText)]),
    closed('t1'),
    opened('t2', 8),
    appended([prompt('harbour', 't2', 8)], 2),
    compacted('b_1', 3, 't1', 9),
  ])
  await store.release(claim)
  const indexing = memoryOf(store).catchUp()
  await isReading
  expect(await store.retain({ historyBefore: minute(5) })).toMatchObject({ entries: 3 })
  goOn()
  await indexing
  expect(await memoryOf(store).search('lantern', inConversation('c1'))).toEqual([])
  expect((await memoryOf(store).search('harbour', inConversation('c1')))[0]).toMatchObject({ text: 'harbour' })
  await store.close()
})

const action = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('say' as const), conversation: fc.nat(3), words: fc.nat(6), other: fc.boolean() }),
  },
  fc.record({ kind: fc.constant('delete' as const), conversation: fc.nat(3), other: fc.boolean() }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('search' as const), other: fc.boolean() }) },
)

it('a store that was open while others wrote and deleted finds the same as one that was just opened', { timeout: 120_000 }, async () => {
  let found = 0
  let files = 0
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 20 }), async (actions) => {
      const file = join(folder, `shared-${files++}.db`)
      const [one, two] = [await open(file), await open(file)]
      const filter = inConversation('', { within: { user: { tenant: 'local', project: 'default', user: 'local' } } })
      const search = async (store: typeof one) => memoryOf(store).search('river stone', filter)
      for (const [n, step] of actions.entries()) {
        const store = step.other ? two : one
        if (step.kind === 'search') await search(store)
        else if (step.kind === 'delete') await store.delete(`c${step.conversation}`)
        else {
          const text = Array.from({ length: step.words + 1 }, (_, at) => ['river', 'stone', 'lamp', 'door'][(at * 3 + n) % 4]).join(' ')
          const id = `c${step.conversation}`
          const first = ((await store.head(id))?.lastSeq ?? 0) + 1
          const claim = await writeConversation(store, id, [
            opened(`t${n}`, n),
            appended([prompt(text, `t${n}`, n)], first),
            closed(`t${n}`, n),
          ])
          await store.release(claim)
        }
      }
      const fresh = await open(file)
      const expected = await search(fresh)
      expect(await search(one)).toEqual(expected)
      expect(await search(two)).toEqual(expected)
      found += expected.length
      for (const store of [one, two, fresh]) await store.close()
    }),
    { numRuns: 40 },
  )
  expect(found).toBeGreaterThan(40)
})
