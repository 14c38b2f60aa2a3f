import type { Block } from '../../../core/block/index.ts'
import { LEASE_MS } from '../../../ports/store.ts'
import { completion, minute, prompt, result, withIds } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import {
  accepted,
  appended,
  type CreateStore,
  closed,
  compacted,
  idsOf,
  journalOf,
  opened,
  visibleTimeline,
  waitingTurn,
  writeConversation,
} from './fixture.ts'

const large = (letter: string) => letter.repeat(10_000)
const withBytes = (id: number, text: string): Block => ({
  ...(withIds([result('k', '')], id)[0] as Block),
  base64: Buffer.from(text).toString('base64'),
})

/** Tests of deleting conversations, old entries and unused blobs. */
export function describeRetention({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('deletion and retention', () => {
    it('deletes a conversation with all its entries, and returns whether it existed', async () => {
      const { store } = await create()
      await writeConversation(store, 'c1', [opened('t1'), appended([prompt('x', 't1')])], [compacted('b_1', 2)])
      expect(await store.delete('c1')).toBe(true)
      expect(await store.delete('c1')).toBe(false)
      expect(await store.loadVisible('c1')).toBe(undefined)
      expect(await journalOf(store, 'c1')).toEqual([])
      expect(await store.findByTurn('c1', 't1')).toEqual([])
      expect((await store.list({})).conversations).toEqual([])
      await writeConversation(store, 'c1', [appended([prompt('anew')])])
      expect(await journalOf(store, 'c1')).toMatchObject([{ seq: 1 }])
    })

    it('removes with a conversation only the blobs that no other conversation refers to', async () => {
      const { store, blobs } = await create()
      const shared = await blobs.put(Buffer.from('shared'))
      const mine = await blobs.put(Buffer.from('mine'))
      const strange = await blobs.put(Buffer.from('of somebody else'))
      await writeConversation(store, 'c1', [
        { type: 'blocks.appended', blocks: [withBytes(1, 'shared'), withBytes(2, 'mine')] },
        appended([prompt(large('a'))], 3),
      ])
      await writeConversation(store, 'c2', [
        { type: 'blocks.appended', blocks: [withBytes(1, 'shared')] },
        appended([prompt(large('a'))], 2),
      ])
      await store.delete('c1')
      expect(await Promise.all([shared, mine, strange].map(({ sha256 }) => blobs.has(sha256)))).toEqual([true, false, true])
      expect(await store.findByTurn('c2', 't1')).toMatchObject([{ blob: shared }, { text: large('a') }])
      await store.delete('c2')
      expect(await blobs.has(shared.sha256)).toBe(false)
    })

    it('releaseBlobs removes only the given blobs that no entry refers to', async () => {
      const { store, blobs } = await create()
      const [shown, waiting, strange, orphan] = await Promise.all(
        ['shown', 'waiting', 'of somebody else', 'for nothing'].map((text) => blobs.put(Buffer.from(text))),
      )
      if (!shown || !waiting || !strange || !orphan) throw new Error('a blob store gives a reference for every put')
      const event = { event_id: 'e1', sequence: 1, kind: 'followup' as const, ts: minute(1), text: 'See.', keeps: [waiting] }
      await writeConversation(
        store,
        'c1',
        [{ type: 'blocks.appended', blocks: [withBytes(1, 'shown')] }],
        [{ type: 'event.accepted', event }],
        [{ type: 'event.folded', ts: minute(2), event_ids: ['e1'], turn_id: null }],
      )
      await store.releaseBlobs([shown, waiting, orphan])
      await store.releaseBlobs([orphan])
      const all = [shown, waiting, strange, orphan]
      expect(await Promise.all(all.map(({ sha256 }) => blobs.has(sha256)))).toEqual([true, true, true, false])
      await store.delete('c1')
      expect(await Promise.all(all.map(({ sha256 }) => blobs.has(sha256)))).toEqual([false, false, true, false])
    })

    it('keeps a blob when a delete and an append of the same bytes run concurrently', async () => {
      const { store, blobs } = await create()
      const change = (id: number) => ({
        type: 'blocks.appended' as const,
        blocks: [withBytes(id, 'the same'), { ...withBytes(id + 1, 'x'), text: large('t') }],
      })
      for (let round = 0; round < 10; round++) {
        const doomed = await writeConversation(store, `doomed-${round}`, [change(1)])
        const [, kept] = await Promise.all([store.delete(doomed.conversationId), writeConversation(store, `kept-${round}`, [change(1)])])
        const [block, second] = await store.findByTurn(kept.conversationId, 't1')
        expect(Buffer.from(await blobs.get(block?.blob?.sha256 ?? '')).toString()).toBe('the same')
        expect(second?.text).toBe(large('t'))
        await store.delete(kept.conversationId)
      }
    })

    it('deletes idle conversations, except those with an open turn, a waiting followup or an active lease', async () => {
      const { store, clock } = await create()
      for (const [name, at] of [
        ['idle', 1],
        ['busy', 1],
        ['recent', 9],
      ] as const) {
        const claim = await writeConversation(store, name, [{ type: 'title.set', ts: minute(at), title: name }])
        if (name !== 'busy') await store.release(claim)
      }
      await store.release(await writeConversation(store, 'open', [opened('t1', 1)]))
      await store.release(
        await writeConversation(store, 'parked', [opened('t1', 1), waitingTurn('t1', 1, [{ wait_id: 'w1', kind: 'approval' }])]),
      )
      await store.release(await writeConversation(store, 'waiting', [accepted('e1', 1)]))
      expect(await store.retain({ conversationsIdleSince: minute(5) })).toMatchObject({ conversations: 1 })
      expect((await store.list({})).conversations.map(({ conversationId }) => conversationId).sort()).toEqual([
        'busy',
        'open',
        'parked',
        'recent',
        'waiting',
      ])
      clock.advance(LEASE_MS)
      expect(await store.retain({ conversationsIdleSince: minute(5) })).toMatchObject({ conversations: 1 })
      expect(await store.retain({})).toEqual({ conversations: 0, entries: 0, blobs: 0 })
    })

    it('removes compacted history one whole turn at a time, and leaves the visible timeline unchanged', async () => {
      const { store, blobs } = await create()
      const claim = await writeConversation(
        store,
        'c1',
        [opened('t1', 1), appended([prompt(large('a'), 't1', 1)])],
        [{ type: 'blocks.appended', blocks: [{ ...withBytes(2, 'old bytes'), ts: minute(1) }] }, closed('t1', 2)],
        [
          { type: 'title.set', ts: minute(2), title: 'T' },
          { type: 'sources.merged', ts: minute(2), rows: [{ sid: 1, url: 'https://a.example' }], next_sid: 2 },
        ],
        [
          opened('t2', 3),
          appended([prompt('b', 't2', 3)], 3),
          compacted('b_2', 4, 't1', 3),
          appended([completion('c', 't2', 4)], 5),
          closed('t2', 4),
        ],
        [opened('t3', 8), appended([prompt('d', 't3', 8)], 6)],
        [compacted('b_3', 7, 't2', 9)],
      )
      const before = await visibleTimeline(store, 'c1')
      const bytes = (await store.findByTurn('c1', 't1'))[1]?.blob?.sha256 ?? ''
      expect(await store.retain({ historyBefore: minute(1) })).toEqual({ conversations: 0, entries: 0, blobs: 0 })
      const report = await store.retain({ historyBefore: minute(8) })
      // The entries of t1, and the entry of a summary that was itself compacted. The entries of t2 stay, because its blocks are still
      // visible.
      expect(report.entries).toBe(5)
      expect(report.blobs > 0).toBe(true)
      expect(await visibleTimeline(store, 'c1')).toEqual(before)
      expect(await blobs.has(bytes)).toBe(false)
      expect(await store.readTurnLog('c1', 't1')).toBe(undefined)
      expect(idsOf((await store.readTurnLog('c1', 't2'))?.blocks ?? [])).toEqual(['b_3', 'b_5'])
      expect(await store.findByPath('c1', 'ar:t1.user.prompt')).toEqual([])
      // the number of a removed block is not used again
      await expect(store.append(claim, [appended([prompt('x')], 1)])).rejects.toMatchObject({ code: 'change.invalid' })
      expect(await store.append(claim, [appended([prompt('x', 't3')], 8)])).toMatchObject([{ seq: 15 }])
      const exported = await store.exportBundle('c1')
      expect(exported.turn_logs.map(({ turn_id }) => turn_id)).toEqual(['t2', 't3'])
      expect(await store.retain({ historyBefore: minute(8) })).toMatchObject({ entries: 0 })
    })

    it('keeps the entries of a turn that stored a version of its files, because later versions refer to it', async () => {
      const { store } = await create()
      const published = { ...completion('{}', 't1', 1), type: 'react.workspace.publish' } as const
      await writeConversation(
        store,
        'c1',
        [opened('t1', 1), appended([prompt('a', 't1', 1), published], 1), closed('t1', 2)],
        [opened('t2', 3), appended([prompt('b', 't2', 3)], 3), closed('t2', 4)],
        [compacted('b_3', 4, 't2', 5)],
      )
      expect((await store.retain({ historyBefore: minute(8) })).entries).toBe(3) // the entries of t2
      expect(idsOf((await store.readTurnLog('c1', 't1'))?.blocks ?? [])).toEqual(['b_1', 'b_2'])
      expect(await store.readTurnLog('c1', 't2')).toBe(undefined)
    })
  })
}
