import { call, completion, header, minute, prompt, result, rounds, withIds } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { appended, type CreateStore, closed, compacted, idsOf, opened, textsOf, visibleIds, writeConversation } from './fixture.ts'

/** Tests of finding blocks by path, turn and call in the whole journal. */
export function describeHistory({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('history', () => {
    it('finds blocks by path, turn and call in the whole history, oldest first, even after they were compacted', async () => {
      const { store } = await create()
      await writeConversation(
        store,
        'c1',
        [appended([...rounds(1, 't1'), completion('one', 't1')])],
        [{ type: 'blocks.inserted', after_id: 'b_2', blocks: withIds([result('t1c0', 'late', 't1')], 6) }],
        [appended(rounds(1, 't2'), 7)],
        [compacted('b_10', 11, 't2')],
        [appended([result('t1c0', 'again', 't1')], 12)],
      )
      await writeConversation(store, 'c2', [appended(rounds(1, 't1'))])
      expect(await visibleIds(store, 'c1')).toEqual(['b_11', 'b_12'])
      expect(idsOf(await store.findByPath('c1', 'tc:t1.t1c0.result'))).toEqual(['b_4', 'b_6', 'b_12'])
      expect(idsOf(await store.findByCall('c1', 't1c0'))).toEqual(['b_3', 'b_4', 'b_6', 'b_12'])
      expect(idsOf(await store.findByTurn('c1', 't2'))).toEqual(['b_7', 'b_8', 'b_9', 'b_10', 'b_11'])
      expect(idsOf(await store.findByTurn('c1', 't1'))).toEqual(['b_1', 'b_2', 'b_3', 'b_4', 'b_5', 'b_6', 'b_12'])
      expect(await store.findByPath('c1', 'tc:t9.none.result')).toEqual([])
      expect(await store.findByPath('nowhere', 'tc:t1.t1c0.result')).toEqual([])
    })

    it('finds every block of a long history exactly once', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1')
      const total = 230
      for (let n = 1; n <= total; n += n % 40) {
        const size = Math.min(n % 40, total + 1 - n)
        await store.append(
          claim,
          Array.from({ length: size }, (_, i) => appended([result(`k${(n + i) % 7}`, `r${n + i}`, `t${Math.floor((n + i) / 50)}`)], n + i)),
        )
        const sofar = n + size - 1
        expect((await store.findByCall('c1', 'k3')).length).toBe(Math.floor((sofar + 4) / 7))
        expect((await store.findByTurn('c1', 't1')).length).toBe(Math.max(0, Math.min(50, sofar - 49)))
      }
      expect(idsOf(await store.findByPath('c1', 'tc:t2.k1.result'))).toEqual([
        'b_106',
        'b_113',
        'b_120',
        'b_127',
        'b_134',
        'b_141',
        'b_148',
      ])
      expect((await store.readTurnLog('c1', 't3'))?.blocks_count).toBe(50)
    })

    it('returns blocks as they were appended, even when they are hidden now', async () => {
      const { store } = await create()
      await writeConversation(store, 'c1', [
        appended(rounds(1)),
        { type: 'blocks.hidden', ids: ['b_4'], replacement_text: 'gone', reason: 'hide' },
      ])
      const [block] = await store.findByPath('c1', 'tc:t1.t1c0.result')
      expect(block).toEqual(withIds(rounds(1))[3])
    })

    it('distinguishes paths that differ only in case, a trailing space, NUL or an unpaired surrogate', async () => {
      const { store } = await create()
      const paths = ['odd\ud83d', 'odd\ufffd', 'odd\u0000', 'odd', 'odd ', 'ODD']
      await writeConversation(store, 'c1', [appended(paths.map((path) => ({ ...prompt(path), path })))])
      for (const path of paths) expect(textsOf(await store.findByPath('c1', path))).toEqual([path])
    })

    it('returns the log of a turn in order and with its header, without inserted blocks and summaries', async () => {
      const { store } = await create()
      await writeConversation(
        store,
        'c1',
        [opened('t1', 0), appended([header('t1'), prompt('q', 't1')])],
        [appended([call('k', 'x.y', 't1'), result('k', 'r'.repeat(10_000), 't1')], 3)],
        [{ type: 'blocks.inserted', after_id: 'b_1', blocks: withIds([prompt('feedback', 't1')], 5) }],
        [{ type: 'turn.closed', turn_id: 't1', ts: minute(9), exit_reason: 'complete', sources_used: [1, 2], tokens: 40 }],
        [compacted('b_4', 6, 't1')],
        [opened('t2', 10), appended([header('t2', 10)], 7)],
      )
      const blocks = withIds([header('t1'), prompt('q', 't1'), call('k', 'x.y', 't1'), result('k', 'r'.repeat(10_000), 't1')])
      const log = { turn_id: 't1', ts: minute(0), blocks, end_ts: minute(9), sources_used: [1, 2], blocks_count: 4, tokens: 40 }
      expect(await store.readTurnLog('c1', 't1')).toEqual(log)
      expect(await store.readTurnLog('c1', 't2')).toMatchObject({ end_ts: null, blocks_count: 1 })
      expect(await store.readTurnLog('c1', 't3')).toBe(undefined)
      expect(await store.readTurnLog('nowhere', 't1')).toBe(undefined)
    })

    it('returns every entry exactly once when the journal grows during the read', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [appended([prompt('1'), prompt('2')]), closed('t1')], [opened('t2')])
      const seen: number[] = []
      for await (const { seq } of store.readJournal('c1', { after: 0 })) {
        seen.push(seq)
        if (seq === 1) await store.append(claim, [appended([prompt('3')], 3)])
      }
      expect(seen.slice(0, 3)).toEqual([1, 2, 3])
      expect(new Set(seen).size).toBe(seen.length)
    })
  })
}
