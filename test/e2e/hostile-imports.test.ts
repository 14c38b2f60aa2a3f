import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { importLimits } from '../../src/server/limits/import.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-imports-'))
afterEach(closeServers)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const clock = createSystemClock()
const stores = {
  memory: async () => createMemoryStore({ blobs: createMemoryBlobs(), clock }),
  sqlite: () => createSqliteStore({ file: join(folder, 'daybook.db'), blobs: createMemoryBlobs(), clock }),
}

const times = <T>(count: number, make: (index: number) => T): readonly T[] => Array.from({ length: count }, (_, index) => make(index))
const prompt = (more: object = {}) => ({ type: 'user.prompt', text: 'hello', ...more })
const payload = (more: object) => ({ version: 1, blocks: [prompt()], ...more })

const tooLarge: readonly (readonly [string, object, string])[] = [
  ['blocks', payload({ blocks: times(importLimits.blocks + 1, () => prompt()) }), 'more than 20000 blocks'],
  ['values', payload({ blocks: [prompt({ meta: { list: times(600_000, () => 0) } })] }), 'more than 500000 values'],
  ['keys', payload({ blocks: [prompt({ meta: Object.fromEntries(times(10_001, (index) => [`k${index}`, 0])) })] }), 'more than 10000 keys'],
  ['sources', payload({ sources_pool: times(importLimits.sources + 1, (index) => ({ url: `https://x.test/${index}` })) }), 'sources'],
]

describe('an import with too many', () => {
  it.each(tooLarge)('%s is rejected, and the reason is named', async (_, bundle, reason) => {
    const { client, store } = await openServer()
    await expect(client.conversations.import(bundle, 'large')).rejects.toMatchObject({
      status: 413,
      code: 'request.too_large',
      message: expect.stringContaining(reason),
    })
    expect((await store.list({})).conversations).toEqual([])
  })
})

it.each(Object.entries(stores))('while a large bundle is imported, other requests are answered: %s', async (_, createStore) => {
  const store = await createStore()
  const { client } = await openServer({ store })
  const text = JSON.stringify(payload({ blocks: times(importLimits.blocks, (index) => prompt({ turn_id: `turn_${index >> 2}` })) }))
  const bundle = JSON.parse(text) as object
  let answered = 0
  let done = false
  const imported = client.conversations.import(bundle, 'large').finally(() => {
    done = true
  })
  while (!done) {
    await client.conversations.list({ search: 'x' })
    if (!done) answered++
  }
  expect(await imported).toMatchObject({ id: 'large' })
  expect(answered).toBeGreaterThan(10)
  await store.close()
})

it('a user may run one import at a time', async () => {
  const { client } = await openServer()
  const bundle = payload({ blocks: times(5_000, () => prompt()) })
  const outcomes = await Promise.allSettled(times(4, (index) => client.conversations.import(bundle, `c${index}`)))
  expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ status: 429, code: 'request.too_many' })
  }
  expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true)
  await expect(client.conversations.import(bundle, 'later')).resolves.toMatchObject({ id: 'later' })
})

const tooLong: readonly (readonly [string, object])[] = [
  ['timeline.conversation_title', payload({ conversation_title: 'x'.repeat(201) })],
  ['turn_id', payload({ blocks: [prompt({ turn_id: 't'.repeat(257) })] })],
  ['path', payload({ blocks: [prompt({ path: `ar:${'t'.repeat(20_000)}` })] })],
  ['call_id', payload({ blocks: [prompt({ call_id: 'c'.repeat(257) })] })],
  ['meta.tool_call_id', payload({ blocks: [prompt({ meta: { tool_call_id: 'c'.repeat(257) } })] })],
  ['type', payload({ blocks: [prompt({ type: 'x'.repeat(257) })] })],
]

it.each(tooLong)('an imported bundle with a very long name is rejected: %s', async (field, bundle) => {
  const { client, store } = await openServer()
  await expect(client.conversations.import(bundle, 'long')).rejects.toMatchObject({
    status: 422,
    code: 'bundle.invalid',
    message: expect.stringContaining(field),
  })
  expect((await store.list({})).conversations).toEqual([])
})

it('the SDK accepts no title that the server would reject', async () => {
  const { agent } = await openServer()
  await expect(agent.archive.create('c1', 'x'.repeat(201))).rejects.toMatchObject({ code: 'change.invalid' })
  await agent.archive.create('c1', 'x'.repeat(200))
  await expect(agent.archive.rename('c1', 'two\nlines')).rejects.toMatchObject({ code: 'change.invalid' })
  expect(await agent.archive.head('c1')).toMatchObject({ title: 'x'.repeat(200) })
})
