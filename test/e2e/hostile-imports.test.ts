import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { importLimits } from '../../src/server/limits/import.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { closeServers, openServer, viewWhen } from '../support/server-fixture.ts'
import { openFolderStore, openTestStore } from '../support/stores.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-imports-'))
afterEach(closeServers)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const clock = createSystemClock()
const stores = {
  'one process': () => openTestStore({ clock }),
  'a folder': () => openFolderStore(folder, { clock }),
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

it.each(Object.entries(stores))(
  'while a large bundle is imported, other requests are answered, by the store of %s',
  async (_, createStore) => {
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
  },
)

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

it('the SDK accepts no title that is longer than the server accepts', async () => {
  const { agent } = await openServer()
  await expect(agent.archive.create('c1', 'x'.repeat(201))).rejects.toMatchObject({ code: 'change.invalid' })
  await agent.archive.create('c1', 'x'.repeat(200))
  await expect(agent.archive.rename('c1', 'y'.repeat(201))).rejects.toMatchObject({ code: 'change.invalid' })
  expect(await agent.archive.head('c1')).toMatchObject({ title: 'x'.repeat(200) })
})

const bundleOf = (more: object) => ({
  format: 'daybook.bundle',
  version: 1,
  conversation_id: 'theirs',
  timeline: payload({ blocks: [] }),
  sources_pool: { sources_pool: [], next_sid: 1 },
  turn_logs: [],
  archive: [],
  blobs: {},
  ...more,
})
const block = (number: number, more: object = {}) => ({
  ...{ id: `b_${number}`, type: 'user.prompt', author: 'user', turn_id: 'turn_1', ts: '2026-01-01T00:00:00Z', text: 'hello' },
  ...more,
})
const source = (more: object) => ({ sid: 1, url: 'https://x.test/', ...more })
const pool = (rows: readonly object[], next_sid: unknown) => ({ sources_pool: rows, next_sid })

const highest = Number.MAX_SAFE_INTEGER
const unusual: Readonly<Record<string, object>> = {
  'the highest event number': bundleOf({
    timeline: payload({ blocks: [], last_external_event_id: 'e', last_external_event_seq: highest }),
  }),
  'a fraction as event number': bundleOf({ timeline: payload({ blocks: [], last_external_event_id: 'e', last_external_event_seq: 0.5 }) }),
  'a negative event number': bundleOf({ timeline: payload({ blocks: [], last_external_event_id: 'e', last_external_event_seq: -1e300 }) }),
  'the highest sid': bundleOf({ sources_pool: pool([source({ sid: highest - 1 })], highest) }),
  'the highest block number': bundleOf({ timeline: payload({ blocks: [block(999_999_999_999_999)] }) }),
  'the highest numbers in a payload': payload({ sources_pool: [source({ sid: highest })] }),
  'a time to live beyond every number': bundleOf({
    timeline: payload({ blocks: [], cache_last_touch_at: 8.64e12, cache_last_ttl_seconds: 1e308 }),
  }),
  'an object as source title': bundleOf({ sources_pool: pool([source({ title: { a: 1 } })], 2) }),
  'lists and numbers in a source': bundleOf({ sources_pool: pool([source({ url: ['x'], text: 5, content: {}, mime: [], domain: 7 })], 2) }),
  'an object as source title in a payload': payload({ sources_pool: [source({ title: { a: 1 }, text: [], content: {} })] }),
  'an object as title in the rows of the timeline': bundleOf({ timeline: payload({ blocks: [], sources_pool: [source({ title: {} })] }) }),
  'a turn without a name': payload({ blocks: [prompt({ turn_id: '' })] }),
  'a turn that is named like a path': payload({ blocks: [prompt({ turn_id: '../../etc' })] }),
  'a turn that is named like a conversation': payload({ blocks: [prompt({ turn_id: 'conv_x' })] }),
  'a tool call without a name': payload({ blocks: [prompt({ type: 'react.tool.call', text: '{}', call_id: '' })] }),
  'numbers as meta fields': payload({
    blocks: [prompt({ meta: { rn: 5, iteration: 'x', visibility: {}, kind: [], channel: 3, edited: 'no' } })],
  }),
  'an attachment without anything': payload({ blocks: [{ type: 'user.attachment' }, { type: 'user.attachment.meta', text: 'null' }] }),
  'plans and results of the wrong form': payload({
    blocks: ['react.plan', 'react.tool.result', 'react.workspace.publish', 'turn.header', 'conv.range.summary'].map((type) => ({
      type,
      text: '[1]',
    })),
  }),
}

it.each(Object.entries(unusual))('an imported bundle is rejected, or its conversation answers messages: %s', async (_, bundle) => {
  const { client, store } = await openServer({ replies: times(2, () => reply.answer('Hello.')) })
  const outcome = await client.conversations.import(bundle, 'odd').catch((error: unknown) => error)
  if (outcome instanceof Error) {
    expect(outcome).toMatchObject({ status: 422, code: 'bundle.invalid' })
    expect((await store.list({})).conversations).toEqual([])
    return
  }
  await client.send('odd', 'Are you there?', { idempotencyKey: 'first' })
  await viewWhen(client, 'odd', ({ turns }) => turns.some(({ answers }) => answers.some(({ text }) => text === 'Hello.')))
  await client.conversations.export('odd')
})

it.each(['acme/main/ann/plans', '../../etc', 'a b', '', 'x'.repeat(129)])(
  'an import without a name of its own does not take the name %j',
  async (name) => {
    const { agent, store } = await openServer()
    await expect(agent.archive.importBundle(bundleOf({ conversation_id: name }))).rejects.toMatchObject({ code: 'bundle.invalid' })
    await expect(agent.archive.importBundle(bundleOf({ conversation_id: name || 'x/y' }), 'chosen')).resolves.toMatchObject({
      conversationId: 'chosen',
    })
    expect((await store.list({})).conversations).toMatchObject([{ conversationId: 'chosen' }])
  },
)
