import { createOwner } from '../../../agent/conversation/claim.ts'
import { childKey } from '../../../core/scope.ts'
import { NO_REASON, retryPauseMs } from '../../../ports/store/work-list.ts'
import { type Claim, type ConversationStore, LEASE_MS, type OfferedEvent } from '../../../ports/store.ts'
import { minute } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { accepted, type CreateStore, closed, opened, owner, waitingTurn, writeConversation } from './fixture.ts'

const message = (id: string): OfferedEvent => ({ event_id: id, kind: 'followup', ts: minute(3), text: `said as ${id}` })
const limits = { maxAttempts: 3 }

/** Claims the next conversation for an owner. Undefined when there is no conversation to claim. */
const next = async (store: ConversationStore, by = 'w', options: Partial<Parameters<ConversationStore['work']['claimNext']>[1]> = {}) =>
  (await store.work.claimNext(owner(by), { ...limits, ...options })).claim

/** Takes all offers of a claimed conversation and ends its turn, as an agent does. */
async function finish(store: ConversationStore, claim: Claim): Promise<void> {
  const takes = (await store.readOffers(claim.conversationId)).map(({ event_id }) => ({ eventId: event_id, outcome: 'refused' as const }))
  await store.append(claim, [], { takes })
  await store.release(claim, 'done')
}

/** Tests of the work list: each conversation with work is claimed by one process, and the tenants are served one after the other. */
export function describeWork({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('the work list', () => {
    it('gives a conversation with an offer to one owner, who may write to it', async () => {
      const { store } = await create()
      await writeConversation(store, 'idle', [opened('t1', 1), closed('t1', 2)])
      expect(await store.offer('c1', message('e1'), { create: true })).toBe('offered')
      const claim = await next(store)
      expect(claim).toMatchObject({ conversationId: 'c1', ownerId: 'w' })
      expect(await next(store, 'other')).toBe(undefined)
      await store.append(claim as Claim, [accepted('e1', 3)], { takes: [{ eventId: 'e1', outcome: 'accepted' }] })
      expect(await store.head('c1')).toMatchObject({ offers: 0, waiting: ['e1'], lastSeq: 1 })
    })

    it('creates a conversation with its first offer, once', async () => {
      const { store } = await create()
      const offers = await Promise.all(Array.from({ length: 4 }, () => store.offer('new', message('e1'), { create: true })))
      expect([...offers].sort()).toEqual(['known', 'known', 'known', 'offered'])
      expect(await store.head('new')).toMatchObject({ lastSeq: 0, offers: 1 })
      await expect(store.offer('other', message('e1'))).rejects.toMatchObject({ code: 'conversation.missing' })
      await expect(store.offer('', message('e1'), { create: true })).rejects.toMatchObject({ code: 'change.invalid' })
    })

    it('gives each conversation to one of many owners that ask at the same time', async () => {
      const { store } = await create()
      for (let n = 0; n < 12; n++) await store.offer(`c${n}`, message('e1'), { create: true })
      const claims = await Promise.all(Array.from({ length: 20 }, (_, n) => next(store, `w${n}`)))
      const ids = claims.flatMap((claim) => claim?.conversationId ?? [])
      expect([...new Set(ids)].length).toBe(ids.length)
      const rest: string[] = []
      for (let claim = await next(store); claim; claim = await next(store)) rest.push(claim.conversationId)
      expect(new Set([...ids, ...rest]).size).toBe(12)
    })

    it('serves the tenants one after the other, and gives the oldest conversation of a tenant first', async () => {
      const { store, clock } = await create()
      for (let n = 0; n < 4; n++) {
        await store.offer(`big/p/u/c${n}`, message('e1'), { create: true })
        clock.advance(1)
      }
      await store.offer('small/p/u/c0', message('e1'), { create: true })
      await store.offer('local', message('e1'), { create: true })
      const order: string[] = []
      for (let claim = await next(store); claim; claim = await next(store)) order.push(claim.conversationId)
      expect(order).toEqual(['local', 'big/p/u/c0', 'small/p/u/c0', 'big/p/u/c1', 'big/p/u/c2', 'big/p/u/c3'])
      clock.advance(LEASE_MS + 1)
      await store.offer('small/p/u/c1', message('e1'), { create: true })
      expect((await next(store))?.conversationId).toBe('local') // of the three tenants, `local` was served least recently
    })

    it('leaves out a tenant that has as many running conversations as allowed, until one is released', async () => {
      const { store } = await create()
      for (const id of ['a/p/u/1', 'a/p/u/2', 'a/p/u/3', 'b/p/u/1']) await store.offer(id, message('e1'), { create: true })
      const claims = [await next(store, 'w', { runningPerTenant: 2 })]
      for (let claim = claims[0]; claim; claims.push(claim)) claim = await next(store, 'w', { runningPerTenant: 2 })
      expect(claims.map((claim) => claim?.conversationId).sort()).toEqual(['a/p/u/1', 'a/p/u/2', 'b/p/u/1', undefined])
      await finish(store, claims[0] as Claim)
      expect((await next(store, 'w', { runningPerTenant: 2 }))?.conversationId).toBe('a/p/u/3')
    })

    it('counts a running conversation that has failed often, although its pause ends after its lease', async () => {
      const { store, clock } = await create()
      const oneAtATime = { maxAttempts: 20, runningPerTenant: 1 }
      await store.offer('a/p/u/1', message('e1'), { create: true })
      for (let attempt = 1; attempt <= 8; attempt++) {
        await store.release((await next(store, 'w', oneAtATime)) as Claim, { failed: 'again' })
        clock.advance(retryPauseMs(attempt))
      }
      expect(retryPauseMs(9) > LEASE_MS).toBe(true)
      expect((await next(store, 'w', oneAtATime))?.conversationId).toBe('a/p/u/1')
      await store.offer('a/p/u/2', message('e1'), { create: true })
      expect(await next(store, 'w', oneAtATime)).toBe(undefined)
      expect(await store.work.summary()).toMatchObject({ running: 1 })
    })

    it('gives an open turn to another owner when the lease ends, tells when that is, and rejects what the first owner writes then', async () => {
      const { store, clock } = await create()
      const first = await store.claim('c1', owner('a'))
      await store.append(first, [opened('t1', 1)])
      expect(await store.work.claimNext(owner('b'), limits)).toEqual({ nextInMs: LEASE_MS })
      clock.advance(LEASE_MS)
      const second = await next(store, 'b')
      expect(second?.conversationId).toBe('c1')
      await expect(store.append(first, [closed('t1', 2)])).rejects.toMatchObject({ code: 'conversation.superseded' })
      await store.append(second as Claim, [closed('t1', 2)])
    })

    it('gives the conversation of a dead process on this machine to another owner at once', async () => {
      const { store, clock } = await create()
      const alive = createOwner(clock)
      const dead = { ...alive, id: 'dead', pid: 2 ** 22 + 1 } // higher than any pid of Linux
      const claim = await store.claim('c1', dead)
      await store.append(claim, [opened('t1', 1)])
      expect((await store.work.claimNext({ ...alive, id: 'next' }, limits)).claim?.conversationId).toBe('c1')
    })

    it('leaves out the tenants that the caller excludes', async () => {
      const { store } = await create()
      for (const id of ['a/p/u/1', 'b/p/u/1', 'own']) await store.offer(id, message('e1'), { create: true })
      expect(await next(store, 'w', { leftOut: ['a', 'b', ''] })).toBe(undefined)
      expect((await next(store, 'w', { leftOut: ['a', ''] }))?.conversationId).toBe('b/p/u/1')
      expect((await next(store, 'w', { leftOut: ['a', 'c'] }))?.conversationId).toBe('own')
      expect((await next(store, 'w', { leftOut: [] }))?.conversationId).toBe('a/p/u/1')
    })

    it('leaves out a turn that waits until it is due or something is offered', async () => {
      const { store, clock } = await create()
      const due = new Date(Date.parse(clock.now()) + 5_000).toISOString()
      const waits = [{ wait_id: 'w1', kind: 'provider' as const, expires_at: due }]
      const claim = await writeConversation(store, 'c1', [opened('t1', 1), waitingTurn('t1', 2, waits)])
      await store.release(claim, 'done')
      const approval = await writeConversation(store, 'c2', [
        opened('t1', 1),
        waitingTurn('t1', 2, [{ wait_id: 'w2', kind: 'approval', call_id: 'k1' }]),
      ])
      await store.release(approval, 'done')
      expect(await store.work.claimNext(owner('w'), limits)).toEqual({ nextInMs: 5_000 })
      await store.offer('c2', message('e1'))
      expect((await next(store))?.conversationId).toBe('c2')
      clock.advance(5_000)
      expect((await next(store))?.conversationId).toBe('c1')
    })

    it('leaves out the conversations of sub-agents and deleted ones', async () => {
      const { store } = await create()
      await store.offer(childKey('c1', 'k1'), message('e1'), { create: true })
      await store.offer('a/p/x~call_y/c1', message('e1'), { create: true }) // not a sub-agent: `~call_` is in the name of the user
      await store.offer('gone', message('e1'), { create: true })
      await store.delete('gone')
      expect((await next(store))?.conversationId).toBe('a/p/x~call_y/c1')
      expect(await store.work.claimNext(owner('w'), limits)).toMatchObject({})
      expect(await next(store)).toBe(undefined)
    })

    it('waits longer after each failure, then parks the conversation, and a message makes it run again', async () => {
      const { store, clock } = await create()
      await store.offer('c1', message('e1'), { create: true })
      for (let attempt = 1; attempt <= limits.maxAttempts; attempt++) {
        const claim = await next(store)
        expect([attempt, claim?.conversationId]).toEqual([attempt, 'c1'])
        await store.release(claim as Claim, { failed: `failure ${attempt}` })
        expect(await store.work.claimNext(owner('w'), limits)).toEqual({ nextInMs: retryPauseMs(attempt) })
        clock.advance(retryPauseMs(attempt))
      }
      expect(await next(store)).toBe(undefined)
      const parked = { at: clock.now(), attempts: limits.maxAttempts, reason: `failure ${limits.maxAttempts}` }
      expect(await store.head('c1')).toMatchObject({ parked })
      expect((await store.list({ parked: true })).conversations).toMatchObject([{ conversationId: 'c1', parked }])
      expect(await store.work.summary()).toMatchObject({ waiting: 0, parked: 1 })
      await store.offer('c1', message('e2'))
      expect((await store.head('c1'))?.parked).toBe(undefined)
      expect((await next(store))?.conversationId).toBe('c1')
    })

    it('parks a conversation whose process ends each time without a new entry, and counts from the start when there are new entries', async () => {
      const { store, clock } = await create()
      await store.offer('c1', message('e1'), { create: true })
      let claim: Claim | undefined
      for (let attempt = 1; attempt <= limits.maxAttempts; attempt++) {
        claim = await next(store)
        expect([attempt, claim?.conversationId]).toEqual([attempt, 'c1'])
        if (attempt < limits.maxAttempts) clock.advance(LEASE_MS)
      }
      await store.append(claim as Claim, [opened('t1', 1)]) // the last attempt did something before its process ended
      clock.advance(LEASE_MS)
      for (let attempt = 1; attempt <= limits.maxAttempts; attempt++) {
        expect((await next(store))?.conversationId).toBe('c1')
        clock.advance(LEASE_MS)
      }
      expect(await next(store)).toBe(undefined)
      expect((await store.head('c1'))?.parked?.reason).toBe(NO_REASON)
    })

    it('runs a parked conversation again after `retry`, or after a claim with `forgetFailures`', async () => {
      const { store, clock } = await create()
      for (const id of ['c1', 'c2']) {
        await store.offer(id, message('e1'), { create: true })
        await store.release((await next(store, 'w', { maxAttempts: 1 })) as Claim, { failed: 'x' })
      }
      clock.advance(retryPauseMs(1))
      expect(await next(store, 'w', { maxAttempts: 1 })).toBe(undefined)
      expect(await store.work.summary()).toMatchObject({ parked: 2 })
      expect([await store.work.retry('c1'), await store.work.retry('c1'), await store.work.retry('none')]).toEqual([true, false, false])
      expect((await next(store))?.conversationId).toBe('c1')
      await store.release(await store.claim('c2', owner('x')))
      expect((await store.head('c2'))?.parked?.reason).toBe('x')
      await store.release(await store.claim('c2', owner('x'), { forgetFailures: true }))
      expect((await next(store))?.conversationId).toBe('c2')
    })

    it('counts what waits, what runs and for how long, and the backlog of each tenant', async () => {
      const { store, clock } = await create()
      expect(await store.work.summary()).toEqual({ waiting: 0, longestWaitSeconds: 0, running: 0, oldestLeaseSeconds: 0, parked: 0 })
      await store.offer('a/p/u/1', message('e1'), { create: true })
      await store.offer('a/p/u/1', message('e2'))
      clock.advance(4_000)
      await store.offer('b/p/u/1', message('e1'), { create: true })
      await store.append(await store.claim('c', owner('w')), [opened('t1', 1)])
      clock.advance(2_000)
      expect(await store.work.summary()).toEqual({ waiting: 2, longestWaitSeconds: 6, running: 1, oldestLeaseSeconds: 2, parked: 0 })
      const backlogs = await Promise.all(['a/p/other/new', 'b/p/u/1', 'c', 'z/p/u/1'].map((id) => store.work.backlog(id, 10)))
      expect(backlogs).toEqual([2, 1, 0, 0])
    })
  })
}
