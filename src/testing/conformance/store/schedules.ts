import { MAX_OPEN_OFFERS, type NewSchedule, SCHEDULES_PER_CONVERSATION, type Schedules } from '../../../ports/store/schedules.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import type { TestRunner } from '../test-runner.ts'
import { type CreateStore, opened, owner, writeConversation } from './fixture.ts'

const HOUR = 3_600

/** Tests of `schedules`: events that the store offers at a later time. */
export function describeSchedules({ describe, it, expect }: TestRunner, create: CreateStore): void {
  /** A store with the conversations `c1` and `c2`, and a function that returns the time a number of seconds after the start. */
  async function createWithConversations() {
    const { store, clock } = await create()
    for (const id of ['c1', 'c2']) await store.release(await store.claim(id, owner('a')))
    const start = Date.parse(clock.now())
    return { store, clock, schedules: schedulesOf(store), inSeconds: (seconds: number) => new Date(start + seconds * 1_000).toISOString() }
  }
  const schedulesOf = (store: ConversationStore): Schedules => {
    if (!store.schedules) throw new Error('the store has no `schedules`')
    return store.schedules
  }
  const say = (scheduleId: string, at: string, fields: Partial<NewSchedule> = {}): NewSchedule => ({
    scheduleId,
    at,
    event: { kind: 'followup', text: `said by ${scheduleId}` },
    ...fields,
  })
  const idsIn = async (store: ConversationStore, id = 'c1') => (await store.readOffers(id)).map(({ event_id }) => event_id)

  describe('schedules', () => {
    it('loop 17.105: offers an event once its time has come, and never again', async () => {
      const { store, clock, schedules, inSeconds } = await createWithConversations()
      const event = { kind: 'external', text: 'Backup has failed.', payload: { reactive: true, source: 'backup' } } as const
      expect(await schedules.add('c1', say('one', inSeconds(60), { event }))).toBe('added')
      clock.advance(59_999)
      expect(await schedules.fire()).toEqual({ fired: 0, nextAt: inSeconds(60) })
      expect(await store.head('c1')).toMatchObject({ offers: 0 })
      clock.advance(1)
      expect(await schedules.fire()).toEqual({ fired: 1, nextAt: undefined })
      expect(await store.readOffers('c1')).toEqual([{ event_id: 'one-1', ts: inSeconds(60), ...event }])
      expect(await store.head('c1')).toMatchObject({ offers: 1 })
      clock.advance(60_000)
      expect(await schedules.fire()).toEqual({ fired: 0, nextAt: undefined })
      expect(await schedules.list()).toEqual({ schedules: [] })
    })

    it('tells the listeners of offers', async () => {
      const { store, schedules, inSeconds } = await createWithConversations()
      const told = new Promise((resolve) => {
        store.watchOffers({ onOffered: resolve, onError: resolve })
      })
      await schedules.add('c2', say('one', inSeconds(0)))
      await schedules.fire()
      expect(await told).toBe('c2')
    })

    it('loop 17.106: keeps its original times, and fires once for all times that have passed', async () => {
      const { store, clock, schedules, inSeconds } = await createWithConversations()
      await schedules.add('c1', say('hourly', inSeconds(HOUR), { every: HOUR }))
      clock.advance(HOUR * 1_000 + 5_000)
      expect(await schedules.fire()).toEqual({ fired: 1, nextAt: inSeconds(2 * HOUR) })
      clock.advance(5 * HOUR * 1_000)
      expect(await schedules.fire()).toEqual({ fired: 1, nextAt: inSeconds(7 * HOUR) })
      expect(await idsIn(store)).toEqual(['hourly-1', 'hourly-2'])
      expect(await schedules.list()).toMatchObject({
        schedules: [{ scheduleId: 'hourly', every: HOUR, nextAt: inSeconds(7 * HOUR), fired: 2 }],
      })
    })

    it('loop 17.107: fires again within its interval after the clock was set back by years', async () => {
      const { store, clock, schedules, inSeconds } = await createWithConversations()
      await schedules.add('c1', say('hourly', inSeconds(HOUR), { every: HOUR }))
      await schedules.add('c1', say('first-in-a-week', inSeconds(168 * HOUR), { every: HOUR }))
      const year = 365 * 24 * HOUR * 1_000
      clock.advance(year)
      expect(await schedules.fire()).toMatchObject({ fired: 2 })
      clock.advance(-year)
      expect(await schedules.fire()).toEqual({ fired: 0, nextAt: inSeconds(HOUR) })
      clock.advance(HOUR * 1_000)
      expect(await schedules.fire()).toMatchObject({ fired: 2 })
      expect([...(await idsIn(store))].sort()).toEqual(['first-in-a-week-1', 'first-in-a-week-2', 'hourly-1', 'hourly-2'])
    })

    it('loop 17.108: fires once when several callers fire at the same moment', async () => {
      const { store, schedules, inSeconds } = await createWithConversations()
      for (let n = 0; n < 10; n++) await schedules.add(n % 2 ? 'c1' : 'c2', say(`s${n}`, inSeconds(-n), n % 3 ? {} : { every: 60 }))
      const fired = await Promise.all(Array.from({ length: 5 }, () => schedules.fire()))
      expect(fired.reduce((sum, each) => sum + each.fired, 0)).toBe(10)
      expect([...(await idsIn(store)), ...(await idsIn(store, 'c2'))].sort()).toEqual(
        Array.from({ length: 10 }, (_, n) => `s${n}-1`).sort(),
      )
    })

    it('fires a schedule with its new event and its new interval, if it is removed and added again while schedules fire', async () => {
      const { store, clock, schedules, inSeconds } = await createWithConversations()
      for (let n = 0; n < 50; n++) await schedules.add('c1', say(`s${n}`, inSeconds(-2)))
      await schedules.add('c2', say('edited', inSeconds(-1)))
      const firing = schedules.fire()
      const removed = await schedules.remove('c2', 'edited')
      const event = { kind: 'followup', text: 'the new text' } as const
      await schedules.add('c2', say('edited', inSeconds(-1), { event, every: HOUR }))
      await firing
      await schedules.fire()
      const texts = (await store.readOffers('c2')).map(({ text }) => text)
      expect(texts).toEqual([removed ? event.text : 'said by edited'])
      clock.advance(HOUR * 1_000)
      await schedules.fire()
      expect(await idsIn(store, 'c2')).toEqual(removed ? ['edited-1', 'edited-2'] : ['edited-1'])
    })

    it('fires more schedules than one page of its query', async () => {
      const { store, clock, schedules, inSeconds } = await createWithConversations()
      for (let n = 0; n < 60; n++) await schedules.add('c1', say(`s${n}`, inSeconds(-1)))
      for (let n = 0; n < 60; n++) await schedules.add('c2', say(`s${n}`, inSeconds(-1), { every: 10 }))
      await schedules.add('c2', say('later', inSeconds(30)))
      clock.advance(1)
      expect(await schedules.fire()).toEqual({ fired: 120, nextAt: inSeconds(9) })
      expect(await store.head('c2')).toMatchObject({ offers: 60 })
    })

    it('loop 17.109: leaves events out while the conversation takes no offers', async () => {
      const { store, clock, schedules, inSeconds } = await createWithConversations()
      const rest = { kind: 'followup', ts: inSeconds(0), text: 'waits' } as const
      for (let n = 1; n < MAX_OPEN_OFFERS; n++) await store.offer('c1', { event_id: `e${n}`, ...rest })
      await schedules.add('c1', say('often', inSeconds(1), { every: 1 }))
      for (let n = 0; n < 5; n++) {
        clock.advance(1_000)
        await schedules.fire()
      }
      expect(await store.head('c1')).toMatchObject({ offers: MAX_OPEN_OFFERS })
      expect(await schedules.list()).toMatchObject({ schedules: [{ fired: 1, nextAt: inSeconds(6) }] })
    })

    it('loop 17.110: stores a schedule once, even after it has fired, and continues the numbers of its events if it is removed and added again', async () => {
      const { store, clock, schedules, inSeconds } = await createWithConversations()
      expect(await schedules.add('c1', say('a', inSeconds(1)))).toBe('added')
      expect(await schedules.add('c1', say('a', inSeconds(9), { event: { kind: 'followup', text: 'other' } }))).toBe('known')
      expect(await schedules.add('c2', say('a', inSeconds(1)))).toBe('added')
      expect(await schedules.remove('c2', 'a')).toBe(true)
      expect([await schedules.remove('c2', 'a'), await schedules.remove('c1', 'x'), await schedules.remove('none', 'a')]).toEqual([
        ...[false, false, false],
      ])
      clock.advance(1_000)
      expect(await schedules.fire()).toMatchObject({ fired: 1 })
      expect(await schedules.add('c1', say('a', inSeconds(2)))).toBe('known')
      await schedules.add('c1', say('b', inSeconds(1), { every: 1 }))
      await schedules.fire()
      await schedules.remove('c1', 'b')
      expect(await schedules.add('c1', say('b', inSeconds(1)))).toBe('added')
      await schedules.fire()
      expect(await idsIn(store)).toEqual(['a-1', 'b-1', 'b-2'])
      expect(await idsIn(store, 'c2')).toEqual([])
    })

    it('lists schedules by their next time, page by page, of one conversation or one user', async () => {
      const { store, schedules, inSeconds } = await createWithConversations()
      for (const id of ['t/p/u/x', 't/p/v/x']) await store.release(await store.claim(id, owner('a')))
      const places = [
        ['c1', 'd', 4],
        ['c2', 'b', 2],
        ['t/p/u/x', 'a', 1],
        ['t/p/v/x', 'c', 3],
        ['c1', 'e', 4],
      ] as const
      for (const [id, name, at] of places) await schedules.add(id, say(name, inSeconds(at)))
      const namesOf = async (...query: Parameters<Schedules['list']>) =>
        (await schedules.list(...query)).schedules.map(({ scheduleId }) => scheduleId).join('')
      expect(await namesOf()).toBe('abcde')
      expect(await namesOf({ plain: true })).toBe('bde')
      expect(await namesOf({ prefix: 't/p/u/' })).toBe('a')
      expect(await namesOf({ conversationId: 'c1' })).toBe('de')
      expect(await namesOf({ conversationId: 'none' })).toBe('')
      const first = await schedules.list({ limit: 4 })
      expect(await namesOf({ limit: 4, cursor: first.next ?? '' })).toBe('e')
      expect((await schedules.list({ limit: 5 })).next).toBe(undefined)
      await expect(schedules.list({ cursor: 'x' })).rejects.toMatchObject({ code: 'cursor.invalid' })
    })

    it('loop 17.111: removes the schedules of a deleted conversation', async () => {
      const { store, clock, schedules, inSeconds } = await createWithConversations()
      await schedules.add('c1', say('a', inSeconds(1), { every: 1 }))
      await schedules.add('c2', say('b', inSeconds(1)))
      await store.delete('c1')
      expect((await schedules.list()).schedules.map(({ scheduleId }) => scheduleId)).toEqual(['b'])
      await store.release(await store.claim('c1', owner('a')))
      clock.advance(1_000)
      expect(await schedules.fire()).toMatchObject({ fired: 1 })
      expect(await idsIn(store)).toEqual([])
      expect(await schedules.add('c1', say('a', inSeconds(1)))).toBe('added')
    })

    it('offers large texts, and works while another owner holds the conversation', async () => {
      const { store, schedules, inSeconds } = await createWithConversations()
      await writeConversation(store, 'c1', [opened('t1', 1)])
      const text = `long \u0000 ${'text ä '.repeat(5_000)}`
      await schedules.add('c1', say('long', inSeconds(0), { event: { kind: 'followup', text } }))
      await schedules.fire()
      expect(await store.readOffers('c1')).toMatchObject([{ event_id: 'long-1', text }])
    })

    it('loop 17.112: rejects invalid schedules and too many of them', async () => {
      const { schedules, inSeconds } = await createWithConversations()
      const invalid = [
        ...['', 'a b', 'a/b', 'ä', 'x'.repeat(101)].map((id) => say(id, inSeconds(1))),
        ...['', 'tomorrow', '2030-02-31T99:00:00Z', '+099999-01-01T00:00:00Z'].map((at) => say('a', at)),
        ...[0, -1, 1.5, Number.NaN, 1e15].map((every) => say('a', inSeconds(1), { every })),
      ]
      for (const schedule of invalid) await expect(schedules.add('c1', schedule)).rejects.toMatchObject({ code: 'schedule.invalid' })
      await expect(schedules.add('none', say('a', inSeconds(1)))).rejects.toMatchObject({ code: 'conversation.missing' })
      for (let n = 0; n < SCHEDULES_PER_CONVERSATION; n++) await schedules.add('c1', say(`s${n}`, inSeconds(1)))
      await expect(schedules.add('c1', say('one-more', inSeconds(1)))).rejects.toMatchObject({ code: 'schedule.limit' })
      expect(await schedules.add('c1', say('s5', inSeconds(1)))).toBe('known')
      expect(await schedules.add('c2', say('one-more', inSeconds(1)))).toBe('added')
    })
  })
}
