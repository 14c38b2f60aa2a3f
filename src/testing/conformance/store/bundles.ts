import type { Block } from '../../../core/block/index.ts'
import { type Bundle, parseBundle } from '../../../core/timeline/bundle.ts'
import { call, completion, header, minute, prompt, result, withIds } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { appended, type CreateStore, closed, compacted, idsOf, journalOf, opened, owner, visibleIds, writeConversation } from './fixture.ts'

const picture = (id: number, text: string, turnId = 't1'): Block => ({
  ...(withIds([result('k', '', turnId)], id)[0] as Block),
  base64: Buffer.from(text).toString('base64'),
})

/**
 * A bundle with many kinds of content, of a conversation with two turns. It has compacted, hidden and inserted blocks, sources and blobs.
 */
async function rich({ store }: Awaited<ReturnType<CreateStore>>, name = 'c1'): Promise<Bundle> {
  await writeConversation(
    store,
    name,
    [opened('t1', 1), appended([header('t1'), prompt('q', 't1'), call('k', 'x.y', 't1')])],
    [{ type: 'blocks.appended', blocks: [picture(4, 'first bytes')] }, appended([completion('a', 't1')], 5), closed('t1', 2)],
    [{ type: 'sources.merged', ts: minute(3), rows: [{ sid: 4, url: 'https://a.example', title: 'a' }], next_sid: 9 }],
    [compacted('b_5', 6, 't1')],
    [
      opened('t2', 4),
      appended([prompt('more '.repeat(4_000), 't2')], 7),
      { type: 'blocks.appended', blocks: [picture(8, 'second bytes', 't2')] },
    ],
    [{ type: 'blocks.inserted', after_id: 'b_6', blocks: withIds([prompt('feedback', 't1')], 9) }],
    [compacted('b_9', 10, 't1')],
    [
      { type: 'blocks.hidden', ids: ['b_7'], replacement_text: 'long', reason: 'hide' },
      { type: 'title.set', ts: minute(5), title: 'T' },
    ],
  )
  return store.exportBundle(name)
}

/** Tests of the export and import of conversations. */
export function describeBundles({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('bundles', () => {
    it('hold the visible blocks, the sources pool, every turn log, the blocks that belong to no turn log, and all blobs', async () => {
      const bundle = await rich(await create())
      expect(bundle).toMatchObject({ format: 'daybook.bundle', version: 1, conversation_id: 'c1', sources_pool: { next_sid: 9 } })
      expect(idsOf(bundle.timeline.blocks)).toEqual(['b_10', 'b_7', 'b_8'])
      expect(bundle.turn_logs.map(({ turn_id, blocks }) => [turn_id, idsOf(blocks)])).toEqual([
        ['t1', ['b_1', 'b_2', 'b_3', 'b_4', 'b_5']],
        ['t2', ['b_7', 'b_8']],
      ])
      expect(idsOf(bundle.archive)).toEqual(['b_6', 'b_9'])
      expect(
        Object.values(bundle.blobs)
          .map((base64) => Buffer.from(base64, 'base64').toString())
          .sort(),
      ).toEqual(['first bytes', 'second bytes'])
      expect(bundle.timeline.ts).toBe(minute(5))
    })

    it('are the same byte for byte after an import into another store, and the conversation can be continued there', async () => {
      const bundle = await rich(await create())
      const { store } = await create()
      expect(await store.importBundle(JSON.parse(JSON.stringify(bundle)) as Bundle)).toEqual({ conversationId: 'c1' })
      expect(JSON.stringify(await store.exportBundle('c1'))).toBe(JSON.stringify(bundle))
      expect(idsOf(await store.findByTurn('c1', 't2'))).toEqual(['b_7', 'b_8'])
      expect(idsOf(await store.findByPath('c1', 'su:t1.conv.range.summary'))).toEqual(['b_6', 'b_10'])
      expect(await store.readTurnLog('c1', 't1')).toEqual(bundle.turn_logs[0])
      expect((await store.list({ search: 't' })).conversations).toMatchObject([
        { conversationId: 'c1', startedAt: minute(1), lastActivityAt: minute(5) },
      ])
      const claim = await store.claim('c1', owner('a'))
      expect((await store.loadVisible('c1'))?.timeline.nextBlock).toBe(11)
      await expect(store.append(claim, [appended([prompt('x')], 2)])).rejects.toMatchObject({ code: 'change.invalid' })
      await store.append(claim, [appended([prompt('x')], 11), { type: 'blocks.revealed', ids: ['b_7'] }, compacted('b_10', 12, 't2')])
      expect(await visibleIds(store, 'c1')).toEqual(['b_12', 'b_7', 'b_8', 'b_11'])
    })

    it('are imported only as a new conversation, under another name when one is given', async () => {
      const kit = await create()
      const bundle = await rich(kit)
      const before = await journalOf(kit.store, 'c1')
      await expect(kit.store.importBundle(bundle)).rejects.toMatchObject({ code: 'conversation.exists' })
      expect(await journalOf(kit.store, 'c1')).toEqual(before)
      expect(await kit.store.importBundle(bundle, { as: 'copy' })).toEqual({ conversationId: 'copy' })
      expect(await kit.store.exportBundle('copy')).toEqual({ ...bundle, conversation_id: 'copy' })
      await expect(kit.store.exportBundle('nowhere')).rejects.toMatchObject({ code: 'conversation.missing' })
    })

    it('are rejected as a whole when any part of them is invalid', async () => {
      const bundle = await rich(await create())
      const { store, blobs } = await create()
      const [sha256 = '', base64 = ''] = Object.entries(bundle.blobs)[0] ?? []
      const { [sha256]: _gone, ...others } = bundle.blobs
      const [log] = bundle.turn_logs
      const shown = bundle.timeline.blocks
      const wrong: Record<string, unknown> = {
        'a version we do not know': { ...bundle, version: 2 },
        'a blob that is not there': { ...bundle, blobs: others },
        'a blob that is not what its hash says': { ...bundle, blobs: { ...others, [sha256]: Buffer.from('forged').toString('base64') } },
        'a blob that is not base64': { ...bundle, blobs: { ...others, [sha256]: `${base64}!` } },
        'blocks that are not a list': { ...bundle, timeline: { ...bundle.timeline, blocks: 'oops' } },
        'one block twice': { ...bundle, archive: [...bundle.archive, ...bundle.archive] },
        'an id that is not ours': { ...bundle, archive: [{ ...bundle.archive[0], id: 'mine' }] },
        'a block that says one thing in the history and another in the timeline': {
          ...bundle,
          timeline: { ...bundle.timeline, blocks: shown.map((block) => (block.id === 'b_7' ? { ...block, text: 'forged' } : block)) },
        },
        'a log with a block of another turn': { ...bundle, turn_logs: [{ ...log, turn_id: 't9' }] },
        'a size that is not the blob’s': {
          ...bundle,
          timeline: {
            ...bundle.timeline,
            blocks: shown.map((block) => (block.blob ? { ...block, blob: { ...block.blob, size: 1 } } : block)),
          },
        },
        nothing: null,
      }
      for (const value of Object.values(wrong)) {
        await expect(store.importBundle(value as Bundle)).rejects.toMatchObject({ name: 'Failure' })
        expect((await store.list({})).conversations).toEqual([])
        for (const hash of Object.keys(bundle.blobs)) expect(await blobs.has(hash)).toBe(false)
      }
    })

    it('may hold more sources than a JavaScript call can take as arguments', async () => {
      const { store } = await create()
      const rows = Array.from({ length: 130_000 }, (_, n) => ({ sid: n + 1, url: 'https://a.example' }))
      const bundle = parseBundle({ version: 1, ts: minute(1), blocks: [], conversation_id: 'c1' })
      await store.importBundle({ ...bundle, sources_pool: { sources_pool: rows, next_sid: 130_001 } })
      expect((await store.loadVisible('c1'))?.timeline.sources.rows.length).toBe(130_000)
    })

    it('timeline 11.13: the sources of a bundle are read from its source pool; if it has no pool, from the source rows in its timeline', async () => {
      const { store } = await create()
      const row = (sid: number) => ({ sid, url: `https://a.example/${sid}`, title: `s${sid}` })
      const bare = { version: 1, ts: minute(1), blocks: [{ type: 'user.prompt', text: 'q', turn_id: 't1' }], sources_pool: [row(1)] }
      await store.importBundle(parseBundle({ ...bare, conversation_id: 'bare' }))
      expect((await store.loadVisible('bare'))?.timeline.sources.rows.length).toBe(1)
      const full = {
        ...parseBundle({ ...bare, conversation_id: 'full' }),
        sources_pool: { sources_pool: [row(1), row(2), row(3)], next_sid: 4 },
      }
      await store.importBundle(full)
      expect((await store.loadVisible('full'))?.timeline.sources.rows.length).toBe(3)
    })

    it('may be bare timelines with inline base64, which is stored as blobs', async () => {
      const { store, blobs } = await create()
      const base64 = Buffer.from('a picture').toString('base64')
      const blocks = [{ type: 'user.attachment', mime: 'image/png', base64, turn_id: 't1', ts: minute(0) }]
      await store.importBundle(parseBundle({ version: 1, ts: minute(1), blocks, conversation_id: 'c1' }))
      const [block] = await store.findByTurn('c1', 't1')
      expect(Buffer.from(await blobs.get(block?.blob?.sha256 ?? '')).toString()).toBe('a picture')
    })
  })
}
