import { type ConversationStore, LEASE_MS, OFFERS_PER_READ, type OfferedEvent } from '../../../ports/store.ts'
import { minute, prompt } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { accepted, appended, type CreateStore, closed, compacted, journalOf, opened, owner, writeConversation } from './fixture.ts'

const message = (id: string, fields: Partial<OfferedEvent> = {}): OfferedEvent => ({
  event_id: id,
  kind: 'followup',
  ts: minute(3),
  text: `said as ${id}`,
  ...fields,
})

const idsIn = async (store: ConversationStore, conversationId: string) =>
  (await store.readOffers(conversationId)).map(({ event_id }) => event_id)

/** The arguments of an append that takes one offer: it appends the event of the offer, and marks the offer as taken. */
const taking = (id: string, at = 4) => [[accepted(id, at)], { takes: [{ eventId: id, outcome: 'accepted' }] }] as const

/** Tests of `offer`: any process may offer an event to the owner of a conversation. */
export function describeOffers({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('offers', () => {
    it('stores events for a conversation that another owner holds, in order, and writes no entry', async () => {
      const { store } = await create()
      await writeConversation(store, 'c1', [opened('t1', 1), appended([prompt('x', 't1', 1)])])
      const rich = message('e2', { kind: 'steer', target_turn_id: 't1', payload: { mode: 'wrap_up', $blob: 1 } })
      expect(await store.offer('c1', message('e1'))).toBe('offered')
      expect(await store.offer('c1', rich)).toBe('offered')
      expect(await store.readOffers('c1')).toEqual([message('e1'), rich])
      expect((await journalOf(store, 'c1')).length).toBe(2)
      expect(await store.head('c1')).toMatchObject({ offers: 2, lastSeq: 2 })
      expect(await store.findOffer('c1', 'e1')).toBe('open')
    })

    it('ignores a second offer with the same id, before and after the first was taken', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1)])
      const offers = await Promise.all(Array.from({ length: 5 }, (_, n) => store.offer('c1', message('e1', { text: `attempt ${n}` }))))
      expect([...offers].sort()).toEqual(['known', 'known', 'known', 'known', 'offered'])
      await store.append(claim, ...taking('e1'))
      expect(await store.offer('c1', message('e1'))).toBe('known')
      expect(await store.readOffers('c1')).toEqual([])
      expect(await store.head('c1')).toMatchObject({ offers: 0, waiting: ['e1'] })
    })

    it('keeps the offers of conversations apart, even if their events have the same id', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1)])
      await writeConversation(store, 'c2', [opened('t1', 1)])
      for (const name of ['c1', 'c2']) expect(await store.offer(name, message('e1'))).toBe('offered')
      await store.append(claim, ...taking('e1'))
      expect([await idsIn(store, 'c1'), await idsIn(store, 'c2')]).toEqual([[], ['e1']])
      expect([await store.findOffer('c1', 'e1'), await store.findOffer('c2', 'e1')]).toEqual(['accepted', 'open'])
    })

    it('takes an offer and appends its event in one commit, or does neither', async () => {
      const { store } = await create()
      const stale = await writeConversation(store, 'c1', [opened('t1', 1), appended([prompt('x', 't1', 1)])])
      await store.offer('c1', message('e1'))
      await store.offer('c1', message('e2'))
      await store.offer('c1', message('e3'))
      const claim = await store.claim('c1', owner('b'), { takeOver: 'always' })
      await expect(store.append(stale, ...taking('e1'))).rejects.toMatchObject({ code: 'conversation.superseded' })
      const repeated = [accepted('e1', 4), appended([prompt('the number of this block was used', 't1', 4)])]
      await expect(store.append(claim, repeated, taking('e1')[1])).rejects.toMatchObject({ code: 'change.invalid' })
      expect(await idsIn(store, 'c1')).toEqual(['e1', 'e2', 'e3'])
      expect(await store.append(claim, ...taking('e1'))).toMatchObject([{ seq: 3 }])
      expect(await store.append(claim, [], { takes: [{ eventId: 'e2', outcome: 'refused' }] })).toEqual([])
      expect(await idsIn(store, 'c1')).toEqual(['e3'])
      expect(await Promise.all(['e1', 'e2', 'e3', 'e4'].map((id) => store.findOffer('c1', id)))).toEqual([
        'accepted',
        'refused',
        'open',
        undefined,
      ])
    })

    it('keeps the first outcome of an offer, and accepts taking an unknown one', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1)])
      await store.offer('c1', message('e1'))
      for (const outcome of ['refused', 'accepted'] as const) await store.append(claim, [], { takes: [{ eventId: 'e1', outcome }] })
      await store.append(claim, [], { takes: [{ eventId: 'never', outcome: 'known' }] })
      expect(await store.findOffer('c1', 'e1')).toBe('refused')
      expect(await store.head('c1')).toMatchObject({ offers: 0 })
    })

    it('lists a conversation with an offer as open until the offer is taken', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1), closed('t1', 2)])
      await writeConversation(store, 'c2', [opened('t1', 1), closed('t1', 2)])
      const open = async () => (await store.list({ open: true })).conversations.map(({ conversationId }) => conversationId)
      await store.offer('c1', message('e1', { kind: 'feedback' }))
      expect(await open()).toEqual(['c1'])
      await store.append(claim, [accepted('e1', 4, 'feedback')], { takes: [{ eventId: 'e1', outcome: 'accepted' }] })
      expect(await open()).toEqual([])
    })

    it('reads many offers in parts', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1)])
      const ids = Array.from({ length: OFFERS_PER_READ + 3 }, (_, n) => `e${n}`)
      for (const id of ids) await store.offer('c1', message(id))
      expect(await idsIn(store, 'c1')).toEqual(ids.slice(0, OFFERS_PER_READ))
      await store.append(claim, [], { takes: ids.slice(0, 5).map((eventId) => ({ eventId, outcome: 'refused' })) })
      expect(await idsIn(store, 'c1')).toEqual(ids.slice(5, OFFERS_PER_READ + 5))
      expect(await store.head('c1')).toMatchObject({ offers: ids.length - 5 })
    })

    it('rejects an offer for a missing or deleted conversation, and an invalid event, and stores nothing of them', async () => {
      const { store } = await create()
      await writeConversation(store, 'gone', [opened('t1', 1)])
      await writeConversation(store, 'c1', [opened('t1', 1)])
      await store.offer('gone', message('e1'))
      await store.delete('gone')
      for (const name of ['gone', 'never', '', 'half\ud83d'])
        await expect(store.offer(name, message('e2'))).rejects.toMatchObject({ code: 'conversation.missing' })
      expect(await store.readOffers('gone')).toEqual([])
      expect(await store.findOffer('gone', 'e1')).toBe(undefined)
      const invalid = [
        { ...message('e1'), kind: 'shout' },
        { ...message('e1'), ts: 'yesterday' },
        { ...message('e1'), text: 7 },
        { ...message('e1'), payload: 1n },
        { ...message(''), event_id: '' },
        { ...message(''), event_id: 'half\ud83d' },
      ] as unknown as OfferedEvent[] // hostile values
      for (const event of invalid) await expect(store.offer('c1', event)).rejects.toMatchObject({ code: 'change.invalid' })
      await expect(store.offer('c1', message('e1', { keeps: [{ sha256: 'f'.repeat(64), size: 1 }] }))).rejects.toMatchObject({
        code: 'blob.missing',
      })
      expect(await store.head('c1')).toMatchObject({ offers: 0 })
    })

    it('does not return offers of an earlier conversation with the same id', async () => {
      const { store } = await create()
      await writeConversation(store, 'c1', [opened('t1', 1)])
      await store.offer('c1', message('e1'))
      await store.delete('c1')
      await writeConversation(store, 'c1', [opened('t1', 1)])
      expect(await store.head('c1')).toMatchObject({ offers: 0 })
      expect(await store.offer('c1', message('e1'))).toBe('offered')
    })

    it('keeps the blobs and the long text of an offer until the offer is removed', async () => {
      const { store, blobs, clock } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1), appended([prompt('x', 't1', 1)]), closed('t1', 2)])
      await store.append(claim, [compacted('b_1', 2, 't1', 3)])
      const attached = await blobs.put(Buffer.from('attached'))
      const long = message('e1', { text: 'long '.repeat(4_000), keeps: [attached] })
      await store.offer('c1', long)
      await store.releaseBlobs([attached])
      expect(await store.retain({ historyBefore: minute(50_000) })).toMatchObject({ blobs: 0 })
      expect(await store.readOffers('c1')).toEqual([long])
      await store.append(claim, [], { takes: [{ eventId: 'e1', outcome: 'refused' }] })
      await store.releaseBlobs([attached])
      expect(await blobs.has(attached.sha256)).toBe(true) // offers that were taken stay stored until retention removes them
      const takenAt = clock.now()
      await store.retain({ historyBefore: takenAt })
      expect(await store.findOffer('c1', 'e1')).toBe('refused')
      clock.advance(1)
      await store.retain({ historyBefore: clock.now() })
      expect(await store.findOffer('c1', 'e1')).toBe(undefined)
      expect(await blobs.has(attached.sha256)).toBe(false)
    })

    it('removes the blobs of an offer with its conversation, and keeps those of other conversations', async () => {
      const { store, blobs } = await create()
      const [mine, shared] = [await blobs.put(Buffer.from('mine')), await blobs.put(Buffer.from('shared'))]
      for (const name of ['c1', 'c2']) await writeConversation(store, name, [opened('t1', 1)])
      await store.offer('c1', message('e1', { keeps: [mine, shared] }))
      await store.offer('c2', message('e1', { keeps: [shared] }))
      await store.delete('c1')
      expect([await blobs.has(mine.sha256), await blobs.has(shared.sha256)]).toEqual([false, true])
      await store.delete('c2')
      expect(await blobs.has(shared.sha256)).toBe(false)
    })

    it('does not delete an idle conversation while an offer waits, and does not export offers', async () => {
      const { store, clock } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1), appended([prompt('x', 't1', 1)]), closed('t1', 2)])
      await store.offer('c1', message('e1'))
      await store.release(claim)
      clock.advance(LEASE_MS)
      expect(await store.retain({ conversationsIdleSince: minute(5) })).toMatchObject({ conversations: 0 })
      await store.importBundle(await store.exportBundle('c1'), { as: 'copy' })
      expect(await store.head('copy')).toMatchObject({ offers: 0 })
      await store.append(await store.claim('c1', owner('a')), [], { takes: [{ eventId: 'e1', outcome: 'refused' }] })
      clock.advance(LEASE_MS)
      expect(await store.retain({ conversationsIdleSince: minute(5) })).toMatchObject({ conversations: 2 })
    })

    it('tells listeners about offers, and nothing after the watching has ended', async () => {
      const { store } = await create()
      for (const name of ['c1', 'c2']) await writeConversation(store, name, [opened('t1', 1)])
      const [watching, ended] = [watchOffers(store), watchOffers(store)]
      ended.unwatch()
      ended.unwatch()
      await store.offer('c1', message('e1'))
      await watching.until('c1')
      await store.offer('c2', message('e1'))
      await watching.until('c2')
      expect(ended.told).toEqual([])
      expect(watching.errors).toEqual([])
      await store.close() // `close` succeeds although a listener is still watching
      await expect(store.offer('c1', message('e2'))).rejects.toMatchObject({ code: 'store.closed' })
      await expect(store.readOffers('c1')).rejects.toMatchObject({ code: 'store.closed' })
    })
  })
}

/** Watches for offers. `told` lists the conversations of all notifications that the listener has received. */
export function watchOffers(store: ConversationStore) {
  const told: string[] = []
  const errors: unknown[] = []
  let check = () => {}
  const onOffered = (conversationId: string) => {
    told.push(conversationId)
    check()
  }
  const unwatch = store.watchOffers({ onOffered, onError: (error) => void errors.push(error) })
  /** Resolves when the listener was notified about this conversation. */
  const until = (conversationId: string) =>
    new Promise<void>((resolve) => {
      check = () => {
        if (told.includes(conversationId)) resolve()
      }
      check()
    })
  return { told, errors, unwatch, until }
}
