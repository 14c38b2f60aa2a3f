import type { Block } from '../../../core/block/index.ts'
import type { Change } from '../../../core/timeline/change.ts'
import { blockById, blocksOf } from '../../../core/timeline/timeline.ts'
import { minute, prompt, result, rounds, withIds } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { appended, type CreateStore, journalOf, owner, visibleIds, visibleTimeline, writeConversation } from './fixture.ts'

const bytes = Uint8Array.from({ length: 9_000 }, (_, i) => i % 251)
const base64 = Buffer.from(bytes).toString('base64')
const withFields = (fields: object, id = 'b_1'): Block => ({ ...withIds([prompt('x')])[0], ...fields, id }) as Block
const append = (fields: object): Change => ({ type: 'blocks.appended', blocks: [withFields(fields)] })

/** A change `response.received` with this value as its `prompt`. */
const responseReceived = (prompt: object): object => ({
  type: 'response.received',
  turn_id: 't1',
  ts: minute(1),
  iteration: 0,
  call_id: 'c1',
  raw: '',
  finish_reason: 'stop',
  usage: { uncached: 1, cache_read: 0, cache_write: 0, output: 1 },
  prompt,
})

function nested(depth: number): object {
  let value = {}
  for (let n = 0; n < depth; n++) value = { in: value }
  return value
}

function circularObject(): object {
  const value: { self?: object } = {}
  value.self = value
  return value
}

/** Replaces every value in the object that is not an object itself, at any depth. */
function overwriteAll(value: object): void {
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === 'object' && inner !== null) overwriteAll(inner)
    else Object.assign(value, { [key]: 'spoilt' })
  }
}

/** Tests of appending to the journal. */
export function describeJournal({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('the journal', () => {
    it('numbers the entries of each conversation from 1 without gaps, also across a change of the owner', async () => {
      const { store } = await create()
      await writeConversation(store, 'other', [appended([prompt('x')])])
      const first = await writeConversation(
        store,
        'c1',
        [appended([prompt('a')])],
        [],
        [appended([prompt('b')], 2), { type: 'title.set', ts: minute(1), title: 't' }],
      )
      await store.release(first)
      const second = await store.claim('c1', owner('b'))
      expect((await store.append(second, [appended([prompt('c')], 3)])).map(({ seq }) => seq)).toEqual([4])
      expect((await journalOf(store, 'c1')).map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
      expect((await journalOf(store, 'c1', 1, 2)).map(({ seq }) => seq)).toEqual([2, 3])
      expect(await journalOf(store, 'c1', 4)).toEqual([])
      expect(await journalOf(store, 'nowhere')).toEqual([])
    })

    it('does not change when the caller modifies the entries it was given', async () => {
      const { store } = await create()
      const claim = await store.claim('c1', owner('a'))
      const changes: readonly Change[] = [appended([prompt('a')]), { type: 'title.set', ts: minute(1), title: 't' }]
      const spoil = (entry: object) => Object.assign(entry, { seq: 99, change: { type: 'blocks.revealed', ids: [] } })
      for (const entry of await store.append(claim, changes)) spoil(entry)
      const written = structuredClone(changes)
      for (const { change } of await journalOf(store, 'c1')) overwriteAll(change)
      for (const entry of await journalOf(store, 'c1')) spoil(entry)
      expect(await journalOf(store, 'c1')).toEqual(written.map((change, before) => ({ seq: before + 1, change })))
      expect(await visibleIds(store, 'c1')).toEqual(['b_1'])
    })

    it('reads back what append returned, also deeply nested values and arrays with extra properties', async () => {
      const { store } = await create()
      const claim = await store.claim('c1', owner('a'))
      const list = Object.assign([1, 2], { more: () => 'words' })
      const logged = await store.append(claim, [responseReceived(nested(400)), responseReceived({ list })] as readonly Change[])
      expect(JSON.stringify(await journalOf(store, 'c1'))).toBe(JSON.stringify(logged))
    })

    it('rejects an append as a whole when one of its changes is invalid', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [appended([prompt('before')])])
      const before = { journal: await journalOf(store, 'c1'), value: await visibleTimeline(store, 'c1'), list: await store.list({}) }
      const good = (number: number) => appended([prompt('good')], number)
      const bad: readonly [string, unknown][] = [
        ['change.invalid', { type: 'never.heard', ts: minute(1) }],
        ['change.invalid', { type: 'blocks.appended', blocks: 'oops' }],
        ['change.invalid', { type: 'blocks.appended', blocks: [withFields({ turn_id: 7 }, 'b_3')] }],
        ['change.invalid', { type: 'blocks.appended', blocks: [withFields({}, 'b_1')] }], // the journal already has a block with this id
        // the first change of the same append already has a block with this id
        ['change.invalid', { type: 'blocks.inserted', after_id: 'b_1', blocks: [withFields({}, 'b_2')] }],
        ['change.invalid', { type: 'blocks.appended', blocks: [withFields({}, 'mine')] }],
        ['change.invalid', { type: 'blocks.appended', blocks: [withFields({}, 'b_03')] }],
        ['change.invalid', { type: 'blocks.appended', blocks: [withFields({ payload: 1n }, 'b_3')] }],
        // nested so deeply that a recursive JSON parser could overflow the stack
        ['change.invalid', { type: 'blocks.appended', blocks: [withFields({ payload: nested(5_000) }, 'b_3')] }],
        ['change.invalid', responseReceived(nested(5_000))],
        ['change.invalid', responseReceived(nested(50_000))],
        ['change.invalid', responseReceived(circularObject())],
        ['block.invalid', { type: 'blocks.appended', blocks: [withFields({ base64: 'not base64!' }, 'b_3')] }],
        // this base64 text can be decoded, but encoding the decoded bytes gives another text
        ['block.invalid', { type: 'blocks.appended', blocks: [withFields({ base64: 'AB==' }, 'b_3')] }],
        ['change.invalid', { type: 'blocks.appended', blocks: [withFields({ ts: 'soon' }, 'b_3')] }], // not a timestamp
        ['change.invalid', { type: 'title.set', ts: '', title: 'never' }],
        ['change.invalid', { type: 'turn.opened', ts: minute(1), turn_id: 'half\ud83d' }],
        ['change.invalid', { type: 'turn.opened', ts: minute(1), turn_id: 't1', options: { tools: 'a.b' } }],
        ['change.invalid', { type: 'turn.opened', ts: minute(1), turn_id: 't1', frozen: { tools: 'abc' } }],
        ['change.invalid', { type: 'sources.merged', ts: minute(1), rows: [{ sid: 0, url: 'https://a.example' }], next_sid: 1 }],
        // this SID is too large for the logical path of a source
        ['change.invalid', { type: 'sources.merged', ts: minute(1), rows: [], next_sid: Number.MAX_SAFE_INTEGER }],
        ['blob.missing', { type: 'blocks.appended', blocks: [withFields({ blob: { sha256: 'a'.repeat(64), size: 1 } }, 'b_3')] }],
        [
          'blob.missing',
          { type: 'blocks.appended', blocks: [withFields({ meta: { keeps: [{ sha256: 'a'.repeat(64), size: 1 }] } }, 'b_3')] },
        ],
        ['change.invalid', { type: 'blocks.appended', blocks: [withFields({ meta: { keeps: ['a'.repeat(64)] } }, 'b_3')] }],
      ]
      for (const [code, change] of bad) {
        await expect(store.append(claim, [good(2), change as Change, good(9)])).rejects.toMatchObject({ code })
        expect({ journal: await journalOf(store, 'c1'), value: await visibleTimeline(store, 'c1'), list: await store.list({}) }).toEqual(
          before,
        )
      }
      expect(await store.append(claim, [good(2)])).toMatchObject([{ seq: 2 }])
    })

    it('keeps the blobs listed in meta.keeps, exports them in a bundle, and removes them with the last conversation that lists them', async () => {
      const { store } = await create()
      const kept = await store.blobs.put(Buffer.from('the whole file'))
      await writeConversation(store, 'c1', [append({ meta: { keeps: [kept] } })])
      const bundle = await store.exportBundle('c1')
      expect(bundle.blobs[kept.sha256]).toBe(Buffer.from('the whole file').toString('base64'))
      await store.importBundle(bundle, { as: 'c2' })
      await store.delete('c1')
      expect(await store.blobs.has(kept.sha256)).toBe(true)
      await store.delete('c2')
      expect(await store.blobs.has(kept.sha256)).toBe(false)
    })

    it('timeline 11.2: call_id, tool_id, payload, unknown fields and unknown types are read back unchanged', async () => {
      const { store } = await create()
      const odd = {
        type: 'future.kind',
        call_id: 'c1',
        tool_id: 'x.y',
        payload: { z: [1, null, { $blob: 'not ours' }], a: { $literal: { $blob: 2 } }, 2: 'two', 1: 'one' },
        x: { deep: ['\u0000', '\ud83d', '😀'.repeat(3_000), `\ud83d${'é'.repeat(9_000)}`] },
      }
      const change: Change = Object.assign(append(odd), { beyond: { $blob: 'y'.repeat(10_000) } })
      const claim = await store.claim('c1', owner('a'))
      const [entry] = await store.append(claim, [change])
      expect(entry?.change).toEqual(change)
      // compared as text, because the order of the keys must also be the same
      expect(JSON.stringify((await journalOf(store, 'c1'))[0]?.change)).toBe(JSON.stringify(change))
      const saved = await store.loadVisible('c1')
      expect(saved && blockById(saved.timeline, 'b_1')).toEqual(withFields(odd))
    })

    it('returns from append what a later load returns: blob references instead of base64, and only JSON values', async () => {
      const { store, blobs } = await create()
      const claim = await store.claim('c1', owner('a'))
      const given = append({ base64, mime: 'image/png', meta: { kept: 1, gone: undefined, at: new Date(0), not: Number.NaN, minus: -0 } })
      const [entry] = await store.append(claim, [given])
      expect(await journalOf(store, 'c1')).toEqual([entry])
      const saved = await store.loadVisible('c1')
      const block = saved && blockById(saved.timeline, 'b_1')
      expect(block).toEqual((entry?.change as { blocks: readonly Block[] } | undefined)?.blocks[0])
      expect(Object.keys(block ?? {}).includes('base64')).toBe(false)
      expect(block?.blob?.size).toBe(bytes.length)
      expect(Buffer.compare(await blobs.get(block?.blob?.sha256 ?? ''), bytes)).toBe(0)
      expect(JSON.stringify(block?.meta)).toBe('{"kept":1,"at":"1970-01-01T00:00:00.000Z","not":null,"minus":0}')
    })

    it('drops an empty meta, so that hiding and revealing a block restores it exactly', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [append({ meta: {} }), appended([prompt('y')], 2)])
      const before = await visibleTimeline(store, 'c1')
      await store.append(claim, [{ type: 'blocks.hidden', ids: ['b_1'], replacement_text: 'r', reason: 'hide' }])
      await store.append(claim, [{ type: 'blocks.revealed', ids: ['b_1'] }])
      expect(await visibleTimeline(store, 'c1')).toEqual({ ...before, lastSeq: 4 })
    })

    it('timeline 11.10, 11.16: stores exactly the appended changes, without announce text or cache marks', async () => {
      const { store } = await create()
      const changes = [appended(rounds(2))]
      await writeConversation(store, 'c1', changes)
      const saved = await store.loadVisible('c1')
      expect((await journalOf(store, 'c1')).map(({ change }) => change)).toEqual(changes)
      expect(saved && blocksOf(saved.timeline).some((block) => 'cache' in block)).toBe(false)
    })

    it('reads back texts shorter and longer than the blob threshold, even when blocks share a text', async () => {
      const { store } = await create()
      const long = (letter: string, length: number) => letter.repeat(length)
      const drafts = [8_191, 8_192, 8_193, 100_000].flatMap((length) => [prompt(long('a', length)), result('c1', long('é', length / 2))])
      const claim = await writeConversation(store, 'c1', [appended([...drafts, ...drafts])])
      await store.append(claim, [{ type: 'title.set', ts: minute(1), title: long('t', 9_000) }])
      const saved = await store.loadVisible('c1')
      expect(saved && blocksOf(saved.timeline)).toEqual(withIds([...drafts, ...drafts]))
      expect(saved?.timeline.title).toBe(long('t', 9_000))
    })
  })
}
