import type { Wait } from '../../../core/timeline/change.ts'
import type { ListQuery } from '../../../ports/store/list.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { minute, prompt } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import {
  accepted,
  appended,
  type CreateStore,
  closed,
  compacted,
  folded,
  journalOf,
  opened,
  resumedTurn,
  waitingTurn,
  writeConversation,
} from './fixture.ts'

const approval: Wait = { wait_id: 'w1', kind: 'approval', call_id: 'a1', question: 'Send it?' }
const later: Wait = { wait_id: 'w2', kind: 'later', call_id: 'a2', expires_at: minute(30) }

const listed = async (store: ConversationStore, query: ListQuery) =>
  (await store.list(query)).conversations.map(({ conversationId }) => conversationId)

/** Tests of turns that wait for something outside of the process. */
export function describeWaits({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('turns that wait', () => {
    it('shows what a turn waits for until the wait has ended or the turn is closed, even after a compaction', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [
        opened('t1', 1),
        appended([prompt('x', 't1', 1)]),
        waitingTurn('t1', 2, [approval]),
      ])
      const waits = async () => (await store.head('c1'))?.waits
      expect(await waits()).toEqual([approval])
      await store.append(claim, [waitingTurn('t1', 3, [later, { ...approval, approver: 'operator' }]), compacted('b_1', 2)])
      expect(await waits()).toEqual([{ ...approval, approver: 'operator' }, later])
      expect((await store.loadVisible('c1'))?.timeline.openTurn?.waits).toEqual(await waits())
      await store.append(claim, [resumedTurn('t1', 4, ['w1', 'never'])])
      expect(await waits()).toEqual([later])
      await store.append(claim, [resumedTurn('another', 5, ['w2']), waitingTurn('another', 5, [approval])])
      expect(await waits()).toEqual([later])
      expect(await listed(store, { waits: true })).toEqual(['c1'])
      await store.append(claim, [closed('t1', 6)])
      expect(await waits()).toEqual([])
      expect(await listed(store, { waits: true })).toEqual([])
    })

    it('counts a waiting turn as open work only when something is due or arrived for it', async () => {
      const { store, clock } = await create()
      clock.set(minute(10))
      const claims = new Map<string, Awaited<ReturnType<typeof writeConversation>>>()
      for (const [name, wait] of [
        ['approval', approval],
        ['later', later],
      ] as const) {
        claims.set(name, await writeConversation(store, name, [opened('t1', 1), waitingTurn('t1', 2, [wait])]))
      }
      await writeConversation(store, 'active', [opened('t1', 3), waitingTurn('t1', 4, [approval], true)])
      await writeConversation(store, 'resumed', [opened('t1', 5), waitingTurn('t1', 5, [approval, later])], [resumedTurn('t1', 6, ['w2'])])
      const open = async () => (await listed(store, { open: true })).toSorted()
      const append = async (name: string, ...changes: Parameters<ConversationStore['append']>[1]) =>
        store.append(claims.get(name) as Awaited<ReturnType<typeof writeConversation>>, changes)
      expect(await open()).toEqual(['active', 'resumed'])
      expect((await listed(store, { waits: true })).toSorted()).toEqual(['active', 'approval', 'later', 'resumed'])

      clock.set(minute(29))
      expect(await open()).toEqual(['active', 'resumed'])
      clock.set(minute(30))
      expect(await open()).toEqual(['active', 'later', 'resumed'])
      clock.set(minute(20))

      await append('approval', accepted('f1', 7), accepted('f2', 7, 'feedback'), accepted('f3', 7, 'external'))
      expect(await open()).toEqual(['active', 'resumed'])
      await append('later', accepted('f1', 7))
      expect(await open()).toEqual(['active', 'later', 'resumed'])
      await append('approval', accepted('s1', 8, 'steer'))
      expect(await open()).toEqual(['active', 'approval', 'later', 'resumed'])
      await append('approval', folded(['s1'], 9), waitingTurn('t1', 9, []))
      expect(await open()).toEqual(['active', 'later', 'resumed'])
      await append('approval', resumedTurn('t1', 10, ['w1']))
      expect(await open()).toEqual(['active', 'approval', 'later', 'resumed'])
      await append('approval', closed('t1', 11))
      // the turn has ended, and the followup `f1` starts the next turn
      expect(await open()).toEqual(['active', 'approval', 'later', 'resumed'])
    })

    it('counts a waiting turn as open work while an offer for it was not taken', async () => {
      const { store, clock } = await create()
      clock.set(minute(10))
      const claim = await writeConversation(store, 'c1', [opened('t1', 1), waitingTurn('t1', 2, [approval])])
      await store.offer('c1', { event_id: 'decide-a1', kind: 'decision', ts: minute(3), text: '' })
      expect(await listed(store, { open: true })).toEqual(['c1'])
      await store.append(claim, [folded(['x'], 4)], { takes: [{ eventId: 'decide-a1', outcome: 'refused' }] })
      expect(await listed(store, { open: true })).toEqual([])
      await store.append(claim, [accepted('complete-a1', 5, 'completion')])
      expect(await listed(store, { open: true })).toEqual(['c1'])
    })

    it('imports a conversation without its waits', async () => {
      const { store } = await create()
      await writeConversation(store, 'c1', [opened('t1', 1), appended([prompt('x', 't1', 1)]), waitingTurn('t1', 2, [approval])])
      await store.importBundle(await store.exportBundle('c1'), { as: 'copy' })
      expect(await store.head('copy')).toMatchObject({ openTurn: null, waits: [], dueAt: null })
    })

    it('rejects waits of the wrong form, and appends nothing', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1)])
      const wrong = [{ ...approval, kind: 'hope' }, { ...later, expires_at: 'soon' }, { kind: 'later' }, 'w1'] as unknown as readonly Wait[]
      for (const wait of wrong) {
        await expect(store.append(claim, [waitingTurn('t1', 2, [wait])])).rejects.toMatchObject({ code: 'change.invalid' })
      }
      expect((await journalOf(store, 'c1')).length).toBe(1)
    })
  })
}
