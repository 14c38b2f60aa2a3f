import fc from 'fast-check'
import { afterEach, expect, it, vi } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { minute, prompt } from '../../src/testing/blocks.ts'
import { appended, closed, compacted, opened, writeConversation } from '../../src/testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../src/testing/conformance/store/memory.ts'
import { runsOf } from '../support/stores.ts'
import { createPlace, isPostgres, type Place, tables } from './places.ts'

const places: Place[] = []
afterEach(async () => {
  for (const place of places.splice(0)) await place.remove()
})

function newPlace(): Place {
  const place = createPlace()
  places.push(place)
  return place
}

it('an append does not write the memory index, which follows after the end of the turn', async () => {
  const place = newPlace()
  const store = await place.open()
  await writeConversation(store, 'c1', [opened('t1'), appended([prompt('a harbour')])])
  expect(await place.countRows('memory_snippets')).toBe(0)
  await writeConversation(store, 'c2', [opened('t1'), appended([prompt('a bridge')]), closed('t1')])
  expect(await place.countRows('memory_snippets')).toBe(0)
  await vi.waitFor(async () => expect(await place.countRows('memory_snippets')).toBe(1), { timeout: 30_000 })
  expect((await memoryOf(store).search('harbour', inConversation('c1'))).length).toBe(1)
  expect(await place.countRows('memory_snippets')).toBe(2)
})

it('entries that are appended while others are indexed are left for the next time', async () => {
  const place = newPlace()
  const store = await place.open()
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
  expect(await place.countRows('memory_snippets')).toBeLessThan(last)
  await memoryOf(store).catchUp()
  expect(await place.countRows('memory_snippets')).toBe(last)
})

it('deleted conversations, including those of sub-agents, leave nothing in any table of the index', async () => {
  const place = newPlace()
  const store = await place.open()
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
  const filled = await place.filledTables()
  expect(tables.filter((table) => !filled.includes(table))).toEqual(['memory_behind'])
  await writeConversation(store, 'c1', [opened('t2'), appended([prompt('not indexed yet', 't2')], 9)])
  for (const id of ids) {
    const claim = await store.claim(id, { id: 'last', host: 'h', pid: 1 }, { takeOver: 'always' })
    await store.release(claim)
    await store.delete(id)
  }
  expect(await place.filledTables()).toEqual([])
})

it('finds and removes each of many texts', async () => {
  const place = newPlace()
  const store = await place.open()
  const count = 4_200 // more than a row of postings can have
  const texts = Array.from({ length: count }, (_, n) => `river word${n}x`)
  const blocks = texts.map((text, n) => prompt(text, `t${n}`, n))
  await store.release(await writeConversation(store, 'c1', [appended(blocks)]))
  await store.release(await writeConversation(store, 'c2', [appended([prompt('river delta')])]))
  const user = { tenant: 'local', project: 'default', user: 'local' }
  const search = async (question: string) =>
    (await memoryOf(store).search(question, inConversation('', { within: { user }, limit: 2 }))).map(({ text }) => text)
  for (const n of [0, 511, 512, 4_095, 4_096, count - 1]) expect((await search(`word${n}x`))[0]).toBe(texts[n])
  expect(await search('river')).toHaveLength(2)
  await store.delete('c1')
  expect(await search('river word512x')).toEqual(['river delta'])
  await store.delete('c2')
  expect(await place.filledTables()).toEqual([])
})

it('a conversation that can not be read does not prevent a search in the others', async () => {
  const place = newPlace()
  const store = await place.open()
  for (const id of ['c1', 'c2', 'c3']) await writeConversation(store, id, [opened('t1'), appended([prompt(`river ${id}`)])])
  const conversation = isPostgres ? 'conversation' : 'entry >> 32'
  await place.change(`UPDATE journal SET body = '{' WHERE ${conversation} = (SELECT key FROM conversations WHERE id = 'c2')`)
  const user = { tenant: 'local', project: 'default', user: 'local' }
  const found = await memoryOf(store).search('river', inConversation('', { within: { user } }))
  expect(found.map(({ text }) => text).sort()).toEqual(['river c1', 'river c3'])
  await expect(memoryOf(store).search('river', inConversation('c2'))).rejects.toMatchObject({ code: 'store.damaged' })
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
  const place = newPlace()
  const store = await place.open()
  let indexed = 0
  await fc.assert(
    fc.asyncProperty(fc.array(strangeText, { minLength: 1, maxLength: 4 }), strangeText, async (texts, question) => {
      const turns = texts.map((text, n) => [opened(`t${n}`, n), appended([prompt(text, `t${n}`, n)], n + 1), closed(`t${n}`, n)])
      const claim = await writeConversation(store, 'acme/web/ann/c1', ...turns)
      for (const each of [question, ...texts]) await memoryOf(store).search(each, inConversation('acme/web/ann/c1'))
      indexed += await place.countRows('memory_postings')
      await store.release(claim)
      await store.delete('acme/web/ann/c1')
      expect(await place.filledTables()).toEqual([])
    }),
    { numRuns: runsOf(60) },
  )
  expect(indexed).toBeGreaterThan(runsOf(10))
})

it('a tenant that is deleted while it is indexed and gets vectors leaves nothing behind', { timeout: 120_000 }, async () => {
  const place = newPlace()
  const [one, two] = [await place.open(), await place.open()]
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
  expect(await place.query('SELECT folder FROM memory_owners')).toEqual([{ folder: 'kept/web/u/' }])
  expect(await place.query('SELECT DISTINCT owner FROM memory_postings')).toHaveLength(1)
  expect(await place.query("SELECT body FROM memory_snippets WHERE body NOT LIKE '%secret%'")).toEqual([])
  const snippet = isPostgres ? 'owner, number' : 'snippet'
  expect(await place.query(`SELECT 1 FROM memory_vectors WHERE (${snippet}) NOT IN (SELECT ${snippet} FROM memory_snippets)`)).toEqual([])
  expect(await place.query('SELECT DISTINCT conversation FROM memory_snippets')).toHaveLength(1)
})

/**
 * A store in which every read of a blob waits until `goOn` is called. `isReading` resolves when a read begins. Large texts are in blobs.
 */
async function slowStore() {
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
  const store = await newPlace().open(slow)
  return { store, isReading: reading.promise, goOn: goingOn.resolve }
}

const largeText = 'lantern '.repeat(50_000)

it('a conversation that is deleted and created again while it is indexed has nothing of the old one', async () => {
  const { store, isReading, goOn } = await slowStore()
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
})

it('a conversation that is deleted and created again while it is indexed is indexed up to its own last entry', async () => {
  const { store, isReading, goOn } = await slowStore()
  const turn = (n: number, text: string) => [opened(`t${n}`, n), appended([prompt(text, `t${n}`, n)], n), closed(`t${n}`, n)]
  await store.release(await writeConversation(store, 'c1', turn(1, largeText), turn(2, 'bridge'), turn(3, 'river')))
  const indexing = memoryOf(store).catchUp()
  await isReading
  await store.delete('c1')
  await store.release(await writeConversation(store, 'c1', turn(1, 'harbour')))
  goOn()
  await indexing
  await store.release(await writeConversation(store, 'c1', turn(2, 'lighthouse')))
  expect((await memoryOf(store).search('lighthouse', inConversation('c1')))[0]).toMatchObject({ text: 'lighthouse' })
})

it('entries that are removed while they are indexed are not found', async () => {
  const { store, isReading, goOn } = await slowStore()
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
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 20 }), async (actions) => {
      const place = createPlace()
      const [one, two] = [await place.open(), await place.open()]
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
      const fresh = await place.open()
      const expected = await search(fresh)
      expect(await search(one)).toEqual(expected)
      expect(await search(two)).toEqual(expected)
      found += expected.length
      await place.remove()
    }),
    { numRuns: runsOf(40) },
  )
  expect(found).toBeGreaterThan(runsOf(10))
})
