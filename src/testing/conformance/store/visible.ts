import type { Change } from '../../../core/timeline/change.ts'
import { blockById } from '../../../core/timeline/timeline.ts'
import { call, minute, prompt, rounds, withIds } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { appended, type CreateStore, compacted, visibleIds, visibleTimeline, writeConversation } from './fixture.ts'

/** Tests of the visible timeline after appends. */
export function describeVisible({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('the visible timeline', () => {
    it('is undefined for a conversation that was never claimed', async () => {
      const { store } = await create()
      expect(await store.loadVisible('c1')).toBe(undefined)
    })

    it('starts at the latest summary, includes the blocks after it, and keeps hidden blocks hidden', async () => {
      const { store } = await create()
      const claim = await writeConversation(
        store,
        'c1',
        [appended(rounds(2))],
        [{ type: 'blocks.hidden', ids: ['b_5', 'b_6'], replacement_text: 'old search', reason: 'cache_ttl', scope: 'recent' }],
        [compacted('b_4', 7), appended([prompt('next')], 8)],
      )
      expect(await visibleIds(store, 'c1')).toEqual(['b_7', 'b_5', 'b_6', 'b_8'])
      await store.append(claim, [{ type: 'blocks.inserted', after_id: 'b_7', blocks: withIds([prompt('feedback')], 9) }])
      await store.append(claim, [compacted('b_5', 10)])
      expect(await visibleIds(store, 'c1')).toEqual(['b_10', 'b_6', 'b_8'])
      const saved = await store.loadVisible('c1')
      expect(saved && blockById(saved.timeline, 'b_6')?.meta).toMatchObject({ hidden: true, hidden_scope: 'recent' })
    })

    it('keeps the sources across a compaction, and never reuses a SID', async () => {
      const { store } = await create()
      const row = (sid: number) => ({ sid, url: `https://a.example/${sid}`, title: `s${sid}`, content: 'c'.repeat(9_000) })
      await writeConversation(store, 'c1', [
        { type: 'sources.merged', ts: minute(1), rows: [row(1), row(2)], next_sid: 3 },
        { type: 'source.removed', ts: minute(2), sid: 2 },
        appended([prompt('x')]),
        compacted('b_1', 2),
        { type: 'sources.merged', ts: minute(3), rows: [row(3)], next_sid: 4 },
        { type: 'sources.used', ts: minute(4), sids: [1] },
      ])
      expect((await store.loadVisible('c1'))?.timeline.sources).toEqual({ rows: [{ ...row(1), used: true }, row(3)], next_sid: 4 })
    })

    it('keeps the frozen texts of the last turn across a compaction, and their blobs as long as the conversation', async () => {
      const { store, blobs } = await create()
      const [first, second] = [await blobs.put(Buffer.from('one')), await blobs.put(Buffer.from('two'))]
      const frozenOf = async () => (await store.loadVisible('c1'))?.timeline.frozen
      const claim = await writeConversation(store, 'c1', [
        { type: 'turn.opened', turn_id: 't1', ts: minute(1), frozen: { tools: first } },
        appended([prompt('x')]),
        compacted('b_1', 2),
      ])
      expect(await frozenOf()).toEqual({ tools: first })
      await store.append(claim, [{ ...compacted('b_2', 3), frozen: { tools: second } } as Change])
      expect(await frozenOf()).toEqual({ tools: second })
      await store.append(claim, [{ type: 'turn.opened', turn_id: 't2', ts: minute(3) }])
      expect(await frozenOf()).toBe(undefined)
      const missing = { sha256: 'f'.repeat(64), size: 3 }
      const unknown = { type: 'turn.opened', turn_id: 't3', ts: minute(4), frozen: { tools: missing } } as const
      await expect(store.append(claim, [unknown])).rejects.toMatchObject({ code: 'blob.missing' })
      await store.release(claim)
      await store.delete('c1')
      expect([await blobs.has(first.sha256), await blobs.has(second.sha256)]).toEqual([false, false])
    })

    it('keeps the open turn, the inbox and the last response across a compaction', async () => {
      const { store } = await create()
      const event = { event_id: 'e1', sequence: 1, kind: 'followup' as const, ts: minute(2), text: 'and Rome?' }
      const options = {
        model: 'strong',
        max_rounds: 3,
        instructions: 'Be brief. '.repeat(1_000),
        tools: ['a.b'],
        ask: ['a.*'],
        output: { type: 'object' },
        unstored: ['model'],
      }
      const response = {
        type: 'response.received' as const,
        turn_id: 't1',
        ts: minute(3),
        iteration: 0,
        call_id: 'c1',
        finish_reason: 'stop',
      }
      await writeConversation(store, 'c1', [
        { type: 'turn.opened', turn_id: 't1', ts: minute(1), options },
        { type: 'event.accepted', event },
        { ...response, raw: 'r'.repeat(20_000), prompt: { cache_ttl_seconds: 300 } },
        appended([call('c1')]),
        compacted('b_1', 2),
      ])
      expect(await visibleTimeline(store, 'c1')).toMatchObject({
        openTurn: { turn_id: 't1', ts: minute(1), options },
        inbox: [event],
        knownEvents: ['e1'],
        lastResponse: { ...response, prompt: { cache_ttl_seconds: 300 } },
        cache: { touched_at: minute(3), ttl_seconds: 300 },
      })
    })
  })
}
