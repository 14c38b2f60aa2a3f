import { createOwner } from '../../agent/conversation/claim.ts'
import { LEASE_MS, type Owner } from '../../ports/store.ts'
import { minute, prompt } from '../blocks.ts'
import { describeBudgetLimits } from './store/budget-limits.ts'
import { describeBudgets } from './store/budgets.ts'
import { describeBundles } from './store/bundles.ts'
import { describeDeletion } from './store/deletion.ts'
import { appended, type CreateStore, journalOf, owner, visibleTimeline } from './store/fixture.ts'
import { describeHistory } from './store/history.ts'
import { describeJournal } from './store/journal.ts'
import { describeList } from './store/list.ts'
import { describeMemory } from './store/memory.ts'
import { describeOffers } from './store/offers.ts'
import { describeReceipts } from './store/receipts.ts'
import { describeRetention } from './store/retention.ts'
import { describeSchedules } from './store/schedules.ts'
import { describeVisible } from './store/visible.ts'
import { describeWaits } from './store/waits.ts'
import { describeWatch } from './store/watch.ts'
import { describeWork } from './store/work.ts'
import type { TestRunner } from './test-runner.ts'

/**
 * The tests that every `ConversationStore` must pass. `create` makes an empty store for each test. `hasMemory` is false for a store without
 * a memory index, `hasSchedules` for a store without schedules, `hasReceipts` for a store without receipts, and `hasBudgets` for a store
 * without budgets.
 */
export function describeStore(
  runner: TestRunner,
  name: string,
  create: CreateStore,
  { hasMemory = true, hasSchedules = true, hasReceipts = true, hasBudgets = true } = {},
): void {
  runner.describe(name, () => {
    describeLeases(runner, create)
    describeJournal(runner, create)
    describeVisible(runner, create)
    describeHistory(runner, create)
    describeList(runner, create)
    describeWaits(runner, create)
    describeBundles(runner, create)
    describeRetention(runner, create)
    describeDeletion(runner, create)
    describeWatch(runner, create)
    describeOffers(runner, create)
    describeWork(runner, create)
    if (hasMemory) describeMemory(runner, create)
    if (hasSchedules) describeSchedules(runner, create)
    if (hasReceipts) describeReceipts(runner, create)
    if (hasBudgets) describeBudgets(runner, create)
    if (hasBudgets) describeBudgetLimits(runner, create)
  })
}

/** Tests of claims and leases: only one owner at a time may write to a conversation. */
function describeLeases({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('one writer per conversation', () => {
    it('creates a conversation with an empty timeline, and returns when the lease expires', async () => {
      const { store, clock } = await create()
      const claim = await store.claim('c1', owner('a'))
      expect(claim).toMatchObject({ conversationId: 'c1', ownerId: 'a' })
      expect(Date.parse(claim.expiresAt) - Date.parse(clock.now())).toBe(LEASE_MS)
      expect(await visibleTimeline(store, 'c1')).toMatchObject({ lastSeq: 0, blocks: [] })
    })

    it('does not create a conversation with `create: false`', async () => {
      const { store } = await create()
      await expect(store.claim('c1', owner('a'), { create: false })).rejects.toMatchObject({ code: 'conversation.missing' })
      expect(await store.head('c1')).toBe(undefined)
      await store.release(await store.claim('c1', owner('a')))
      expect(await store.claim('c1', owner('b'), { create: false })).toMatchObject({ ownerId: 'b' })
    })

    it('tells what a claim has found: the epoch before it, the last entry and the number of open offers', async () => {
      const { store } = await create()
      const first = await store.claim('c1', owner('a'))
      expect(first.found).toMatchObject({ lastSeq: 0, offers: 0 })
      await store.append(first, [appended([prompt('hello')])])
      const again = await store.claim('c1', owner('a'))
      expect(again.found).toEqual({ epoch: first.epoch, lastSeq: 1, offers: 0 })
      await store.offer('c1', { event_id: 'e1', kind: 'followup', ts: minute(0), text: 'news' })
      await store.release(again)
      const { claim: next } = await store.work.claimNext(owner('w'), { maxAttempts: 5 })
      expect(next?.found).toEqual({ epoch: again.epoch, lastSeq: 1, offers: 1 })
    })

    it('finds another epoch after a deletion or an import, so that no process uses a timeline that it loaded before', async () => {
      const { store } = await create()
      const first = await store.claim('c1', owner('a'))
      await store.append(first, [appended([prompt('hello')])])
      await store.release(first)
      const bundle = await store.exportBundle('c1')
      await store.delete('c1')
      await store.importBundle(bundle, { as: 'c1' })
      const imported = await store.claim('c1', owner('a'))
      expect(imported.found.epoch === first.epoch).toBe(false)
      await store.release(imported)
      await store.delete('c1')
      const created = await store.claim('c1', owner('a'))
      expect([first.epoch, imported.epoch].includes(created.found.epoch)).toBe(false)
    })

    it('rejects a claim while another owner holds the lease, and names the owner and the expiry time', async () => {
      const { store } = await create()
      const { expiresAt } = await store.claim('c1', owner('a'))
      const refused = await store.claim('c1', owner('b')).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'conversation.busy', details: { owner: owner('a'), expiresAt } })
      expect(String(refused).includes(expiresAt) && String(refused).includes('process 4711 on host-of-a')).toBe(true)
      await store.claim('c2', owner('b'))
    })

    it('allows another owner to claim exactly when the lease has expired', async () => {
      const { store, clock } = await create()
      const first = await store.claim('c1', owner('a'))
      clock.advance(LEASE_MS - 1)
      await expect(store.claim('c1', owner('b'))).rejects.toMatchObject({ code: 'conversation.busy' })
      clock.advance(1)
      const second = await store.claim('c1', owner('b'))
      expect(second.epoch > first.epoch).toBe(true)
    })

    it('keeps the lease as long as it is renewed in time', async () => {
      const { store, clock } = await create()
      const claim = await store.claim('c1', owner('a'))
      for (let beat = 0; beat < 5; beat++) {
        clock.advance(LEASE_MS - 1)
        await store.renew(claim)
      }
      await expect(store.claim('c1', owner('b'))).rejects.toMatchObject({ code: 'conversation.busy' })
    })

    it('allows another owner to claim after a release; releasing again, or after another claim, has no effect', async () => {
      const { store } = await create()
      const first = await store.claim('c1', owner('a'))
      await store.release(first)
      await store.release(first)
      const second = await store.claim('c1', owner('b'))
      await store.release(first)
      await store.append(second, [appended([prompt('still mine')])])
    })

    it('allows the same owner to claim again, which invalidates its older claim', async () => {
      const { store } = await create()
      const first = await store.claim('c1', owner('a'))
      const second = await store.claim('c1', owner('a'))
      await expect(store.append(first, [appended([prompt('x')])])).rejects.toMatchObject({ code: 'conversation.superseded' })
      await store.append(second, [appended([prompt('y')])])
    })

    it('takes over at once from an owner whose process is dead, and never from one that may be running', async () => {
      const { store, clock } = await create()
      const here = (id: string, facts: Partial<Owner> = {}): Owner => ({ ...createOwner(clock), id, ...facts })
      const dead = 2 ** 30 // no process has such a large pid
      const busy = { code: 'conversation.busy' }

      await store.claim('same process', here('a'))
      // The claim is refused although the process is the same, because one process may have two agents.
      await expect(store.claim('same process', here('b'))).rejects.toMatchObject(busy)
      await store.claim('pid gone', here('a', { pid: dead }))
      // this claim comes from another host, where the store can not find out that the process is dead
      await expect(store.claim('pid gone', owner('b'))).rejects.toMatchObject(busy)
      await store.claim('pid gone', here('b'))
      await store.claim('pid given away', here('a', { startedAt: '1' }))
      await store.claim('pid given away', here('b'))
      for (const elsewhere of [{ host: 'h' }, { bootId: 'b' }, { pidNs: 'n' }]) {
        const name = Object.keys(elsewhere)[0] as string // each object has one field
        await store.claim(name, here('a', { pid: dead, startedAt: '1', ...elsewhere }))
        await expect(store.claim(name, here('b'))).rejects.toMatchObject(busy)
      }
    })

    it('finds the owner of a lease without changing anything, and undefined if the asking process could get the lease', async () => {
      const { store, clock } = await create()
      const asker = createOwner(clock)
      expect(await store.findOwner('c1', asker)).toBe(undefined)
      const claim = await store.claim('c1', owner('a'))
      expect(await store.findOwner('c1', asker)).toEqual(owner('a'))
      await store.append(claim, [appended([prompt('still mine')])])
      clock.advance(LEASE_MS)
      expect(await store.findOwner('c1', asker)).toBe(undefined)
      await store.renew(claim)
      expect(await store.findOwner('c1', asker)).toEqual(owner('a'))
      await store.release(claim)
      expect(await store.findOwner('c1', asker)).toBe(undefined)
      await store.claim('dead', { ...createOwner(clock), startedAt: '1' })
      expect([await store.findOwner('dead', asker), (await store.findOwner('dead', owner('b'))) !== undefined]).toEqual([undefined, true])
      await store.claim('mine', asker)
      expect(await store.findOwner('mine', asker)).toEqual(asker)
      await store.delete('mine')
      expect(await store.findOwner('mine', asker)).toBe(undefined)
    })

    it('still knows the process of an owner after a renewal', async () => {
      const { store, clock } = await create()
      await store.renew(await store.claim('dead', { ...createOwner(clock), startedAt: '1' }))
      await store.claim('dead', createOwner(clock))
      await store.renew(await store.claim('alive', createOwner(clock)))
      await expect(store.claim('alive', createOwner(clock))).rejects.toMatchObject({ code: 'conversation.busy' })
    })

    it('rejects an append or a renewal from an owner that lost its claim, and keeps its earlier entries', async () => {
      const { store } = await create()
      const stale = await store.claim('c1', owner('a'))
      await store.append(stale, [appended([prompt('before')])])
      const current = await store.claim('c1', owner('b'), { takeOver: 'always' })
      const before = await journalOf(store, 'c1')
      const lost = { code: 'conversation.superseded' }
      await expect(store.append(stale, [appended([prompt('x')], 2)])).rejects.toMatchObject(lost)
      await expect(store.append(stale, [{ type: 'title.set', ts: minute(0), title: 'mine' }])).rejects.toMatchObject(lost)
      await expect(store.append(stale, [])).rejects.toMatchObject(lost)
      await expect(store.renew(stale)).rejects.toMatchObject(lost)
      expect(await journalOf(store, 'c1')).toEqual(before)
      expect(await store.append(current, [appended([prompt('y')], 2)])).toMatchObject([{ seq: 2 }])
      await expect(store.append(stale, [appended([prompt('x')], 3)])).rejects.toMatchObject(lost)
      expect(await store.append(current, [appended([prompt('z')], 3)])).toMatchObject([{ seq: 3 }])
    })

    it('rejects a claim with the right epoch and another owner', async () => {
      const { store } = await create()
      const claim = await store.claim('c1', owner('a'))
      await expect(store.append({ ...claim, ownerId: 'b' }, [])).rejects.toMatchObject({ code: 'conversation.superseded' })
    })

    it('rejects a claim of a deleted conversation, even after the conversation was created again', async () => {
      const { store } = await create()
      const claim = await store.claim('c1', owner('a'))
      await store.delete('c1')
      await expect(store.append(claim, [])).rejects.toMatchObject({ code: 'conversation.missing' })
      await store.claim('c1', owner('a'))
      await expect(store.append(claim, [])).rejects.toMatchObject({ code: 'conversation.superseded' })
    })

    it('accepts conversation names that look like paths, and treats them as plain text', async () => {
      const { store } = await create()
      const names = ['../x', 'x', './x', '/etc/x', 'a/../x', '..', 'C:\\x', '%2e%2e%2fx']
      for (const name of names) {
        const claim = await store.claim(name, owner('a'))
        await store.append(claim, [{ type: 'title.set', ts: minute(1), title: name }])
      }
      for (const name of names) expect((await store.loadVisible(name))?.timeline.title).toBe(name)
    })

    it('rejects an empty name and a name with an unpaired surrogate', async () => {
      const { store } = await create()
      for (const name of ['', 'half\ud83d']) await expect(store.claim(name, owner('a'))).rejects.toMatchObject({ code: 'change.invalid' })
    })

    it('rejects every call after close', async () => {
      const { store } = await create()
      const claim = await store.claim('c1', owner('a'))
      await store.close()
      await store.close()
      const over = { code: 'store.closed' }
      await expect(store.claim('c2', owner('a'))).rejects.toMatchObject(over)
      await expect(store.append(claim, [])).rejects.toMatchObject(over)
      await expect(store.loadVisible('c1')).rejects.toMatchObject(over)
      await expect(store.list({})).rejects.toMatchObject(over)
      await expect(journalOf(store, 'c1')).rejects.toMatchObject(over)
    })
  })
}
