import { addAmounts, nothing } from '../../../core/shared-budget.ts'
import { type Claim, LEASE_MS } from '../../../ports/store.ts'
import { createGenerator } from '../../random.ts'
import type { TestRunner } from '../test-runner.ts'
import { amount, createWithClaims, request } from './budget-fixture.ts'
import { appended, type CreateStore, journalOf, owner } from './fixture.ts'

/** Tests of budgets: reservations before model calls, and the cost of responses. */
export function describeBudgets({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('budgets', () => {
    it('reserves up to the limit for all conversations together, and counts the real cost afterwards', async () => {
      const { budgets, c1, c2, charge, stateOf } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 100 })
      expect(await budgets.reserve(c1, request(60))).toEqual({ granted: ['tenant/t'] })
      expect(await budgets.reserve(c2, request(41))).toMatchObject({
        refused: { name: 'tenant/t', limits: { tokens: 100 }, reserved: amount(60) },
        because: 'tokens',
      })
      expect(await budgets.reserve(c2, request(40))).toEqual({ granted: ['tenant/t'] })
      expect(await stateOf()).toEqual({ spent: 0, reserved: 100 })
      await charge(c1, 10)
      expect(await stateOf()).toEqual({ spent: 10, reserved: 40 })
      expect(await budgets.reserve(c1, request(51))).toMatchObject({ because: 'tokens' })
      expect(await budgets.reserve(c1, request(50))).toEqual({ granted: ['tenant/t'] })
    })

    it('reserves in all budgets of a conversation or in none', async () => {
      const { budgets, c1, stateOf } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 100 })
      await budgets.setLimits('user/t/p/u', { tokens: 10 })
      const names = ['day', 'tenant/t', 'user/t/p/u', 'conversation/c1']
      expect(await budgets.reserve(c1, request(11, names))).toMatchObject({ refused: { name: 'user/t/p/u' } })
      expect([await stateOf('tenant/t'), await stateOf('user/t/p/u')]).toEqual([
        { spent: 0, reserved: 0 },
        { spent: 0, reserved: 0 },
      ])
      // budgets without limits are not counted
      expect(await budgets.reserve(c1, request(10, names))).toEqual({ granted: ['tenant/t', 'user/t/p/u'] })
      expect([await stateOf('day'), await stateOf('tenant/t')]).toEqual([undefined, { spent: 0, reserved: 10 }])
    })

    it('limits money, and refuses a call without a known price only if money is limited', async () => {
      const { store, budgets, c1 } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 1_000 })
      expect(await budgets.reserve(c1, { ...request(5), amount: { tokens: 5, micros: null } })).toEqual({ granted: ['tenant/t'] })
      await budgets.setLimits('tenant/t', { micros: 50 })
      expect(await budgets.reserve(c1, { ...request(5), amount: { tokens: 5, micros: null } })).toMatchObject({ because: 'unpriced' })
      expect(await budgets.reserve(c1, { ...request(5), amount: amount(5, 51) })).toMatchObject({ because: 'money' })
      expect(await budgets.reserve(c1, { ...request(5), amount: amount(5, 50) })).toEqual({ granted: ['tenant/t'] })
      await store.append(c1, [], { budget: { charges: [{ slot: 'decision', names: ['tenant/t'], amount: amount(4, 44) }] } })
      expect(await budgets.read(['tenant/t'])).toMatchObject([{ spent: amount(4, 44), reserved: nothing }])
    })

    it('applies the limits of the settings to budgets without limits of their own', async () => {
      const { budgets, c1, c2, charge } = await createWithClaims(create)
      const usual = { tokens: 10 }
      expect(await budgets.reserve(c1, request(11, ['tenant/t'], usual))).toMatchObject({ because: 'tokens' })
      expect(await budgets.reserve(c1, request(10, ['tenant/t'], usual))).toEqual({ granted: ['tenant/t'] })
      await charge(c1, 9)
      expect(await budgets.reserve(c2, request(2, ['tenant/t'], usual))).toMatchObject({ because: 'tokens' })
      await budgets.setLimits('tenant/t', { tokens: 20 })
      expect(await budgets.reserve(c2, request(2, ['tenant/t'], usual))).toEqual({ granted: ['tenant/t'] })
      await budgets.setLimits('tenant/t', {}) // without limits
      expect(await budgets.reserve(c2, request(1_000, ['tenant/t'], usual))).toEqual({ granted: [] })
      await budgets.setLimits('tenant/t', null)
      expect(await budgets.reserve(c2, request(2, ['tenant/t'], usual))).toMatchObject({ because: 'tokens' })
    })

    it('keeps one reservation per slot, and releases it without a cost', async () => {
      const { budgets, c1, stateOf } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 100 })
      await budgets.reserve(c1, request(90))
      expect(await budgets.reserve(c1, request(95))).toEqual({ granted: ['tenant/t'] })
      expect(await budgets.reserve(c1, { ...request(5), slot: 'gate' })).toEqual({ granted: ['tenant/t'] })
      expect(await stateOf()).toEqual({ spent: 0, reserved: 100 })
      await budgets.release(c1, 'decision')
      await budgets.release(c1, 'decision')
      expect(await stateOf()).toEqual({ spent: 0, reserved: 5 })
      expect(await budgets.reserve(c1, request(96))).toMatchObject({ because: 'tokens' })
      expect(await stateOf()).toEqual({ spent: 0, reserved: 5 })
    })

    it('ends a reservation when the lease of its claim expires, is released or is taken over', async () => {
      const { store, clock, budgets, c1, c2, stateOf } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 100 })
      await budgets.reserve(c1, request(100))
      expect(await budgets.reserve(c2, request(1))).toMatchObject({ because: 'tokens' })
      await store.release(c1)
      expect(await stateOf()).toEqual({ spent: 0, reserved: 0 })
      expect(await budgets.reserve(c2, request(100))).toEqual({ granted: ['tenant/t'] })

      const again = await store.claim('c1', owner('a'))
      expect(await budgets.reserve(again, request(1))).toMatchObject({ because: 'tokens' })
      clock.advance(LEASE_MS - 1)
      await store.renew(again)
      clock.advance(1)
      expect(await stateOf()).toEqual({ spent: 0, reserved: 0 })
      expect(await budgets.reserve(again, request(100))).toEqual({ granted: ['tenant/t'] })

      const other = await store.claim('c1', owner('z'), { takeOver: 'always' })
      expect(await stateOf()).toEqual({ spent: 0, reserved: 0 })
      await expect(budgets.reserve(again, request(1))).rejects.toMatchObject({ code: 'conversation.superseded' })
      expect(await budgets.reserve(other, request(100))).toEqual({ granted: ['tenant/t'] })
      await budgets.release(again, 'decision') // the old claim can not end the reservation of the new claim
      expect(await stateOf()).toEqual({ spent: 0, reserved: 100 })
      await store.delete('c1')
      expect(await stateOf()).toEqual({ spent: 0, reserved: 0 })
      const third = await store.claim('c3', owner('a'))
      expect(await budgets.reserve(third, request(100))).toEqual({ granted: ['tenant/t'] })
    })

    it('counts a cost also after its reservation has ended', async () => {
      const { store, clock, budgets, c1, c2, charge, stateOf } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 100 })
      await budgets.reserve(c1, request(100))
      clock.advance(LEASE_MS)
      await store.renew(c2)
      expect(await budgets.reserve(c2, request(80))).toEqual({ granted: ['tenant/t'] }) // also removes the reservation of c1
      await store.renew(c1)
      await charge(c1, 70)
      expect(await stateOf()).toEqual({ spent: 70, reserved: 80 })
      await charge(c2, 1)
      expect(await stateOf()).toEqual({ spent: 71, reserved: 0 })
    })

    it('counts a cost together with its entries, or not at all', async () => {
      const { store, budgets, c1, stateOf } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 100 })
      await budgets.reserve(c1, request(50))
      const budget = { charges: [{ slot: 'decision', names: ['tenant/t'], amount: amount(20) }] }
      await expect(store.append(c1, [{ type: 'unknown' } as never], { budget })).rejects.toMatchObject({ code: 'change.invalid' })
      const current = await store.claim('c1', owner('b'), { takeOver: 'always' })
      await expect(store.append(c1, [appended([])], { budget })).rejects.toMatchObject({ code: 'conversation.superseded' })
      expect((await stateOf())?.spent).toBe(0)
      await store.append(current, [appended([])], { budget })
      expect([(await stateOf())?.spent, (await journalOf(store, 'c1')).length]).toEqual([20, 1])
    })

    it('starts the budget of a day again on the next day (UTC), and keeps the reservations of running calls', async () => {
      const { store, clock, budgets, c1, charge, stateOf } = await createWithClaims(create)
      await budgets.setLimits('day', { tokens: 100 })
      await budgets.setLimits('day/t', { tokens: 50 })
      const names = ['day', 'day/t']
      await budgets.reserve(c1, request(50, names))
      await charge(c1, 45, names)
      await store.append(c1, [], { budget: { raises: [{ name: 'day/t', amount: amount(10) }] } })
      expect(await budgets.reserve(c1, request(16, names))).toMatchObject({ refused: { name: 'day/t' } })
      expect(await budgets.reserve(c1, request(15, names))).toEqual({ granted: names })
      const midnight = Date.parse(`${clock.now().slice(0, 10)}T00:00:00.000Z`) + 86_400_000
      while (Date.parse(clock.now()) < midnight) {
        clock.advance(Math.min(LEASE_MS - 1, midnight - Date.parse(clock.now())))
        await store.renew(c1)
      }
      expect(await stateOf('day/t')).toEqual({ spent: 0, reserved: 15 })
      await charge(c1, 12, names)
      expect([await stateOf('day'), await stateOf('day/t')]).toEqual([
        { spent: 12, reserved: 0 },
        { spent: 12, reserved: 0 },
      ])
      expect(await budgets.reserve(c1, request(39, names))).toMatchObject({ refused: { name: 'day/t', extra: nothing } })
      expect(await budgets.reserve(c1, request(38, names))).toEqual({ granted: names })
    })

    it('a budget that is removed while calls run has nothing reserved, and the cost of these calls is counted', async () => {
      const { budgets, c1, c2, charge, stateOf } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 100 })
      for (const claim of [c1, c2]) await budgets.reserve(claim, request(40))
      expect(await budgets.remove('tenant/t')).toBe(true)
      expect(await stateOf()).toBe(undefined)
      await charge(c1, 30)
      expect(await stateOf()).toEqual({ spent: 30, reserved: 0 })
      await budgets.release(c2, 'decision')
      expect(await stateOf()).toEqual({ spent: 30, reserved: 0 })
      await budgets.setLimits('tenant/t', { tokens: 100 })
      expect(await budgets.reserve(c2, request(71))).toMatchObject({ because: 'tokens' })
      expect(await budgets.reserve(c2, request(70))).toEqual({ granted: ['tenant/t'] })
    })

    it('counts the largest amounts without an error of the store', async () => {
      const { budgets, c1, charge, stateOf } = await createWithClaims(create)
      const most = Number.MAX_SAFE_INTEGER
      await budgets.setLimits('tenant/t', { tokens: most, micros: most })
      for (let n = 0; n < 3; n++) await charge(c1, most, ['tenant/t'], most)
      expect(await stateOf()).toEqual({ spent: most, reserved: 0 })
      expect(await budgets.reserve(c1, request(1))).toMatchObject({ because: 'tokens' })
    })

    it('in any order of reservations, costs, releases and lost leases: no sum is negative, and no cost is lost', async () => {
      const { store, clock, budgets } = await createWithClaims(create)
      const random = createGenerator(7)
      const pick = (count: number) => Math.floor(random() * count)
      const limit = 200
      const names = ['tenant/t', 'user/t/p/u']
      for (const name of names) await budgets.setLimits(name, { tokens: limit })
      const claims = await Promise.all(['r1', 'r2', 'r3', 'r4'].map((id) => store.claim(id, owner(id))))
      let spent = nothing
      let [granted, refused] = [0, 0]
      for (let step = 0; step < 150; step++) {
        const at = pick(claims.length)
        const claim = claims[at] as Claim
        const action = pick(6)
        if (action <= 1) {
          const result = await budgets.reserve(claim, request(1 + pick(150), names))
          if ('granted' in result) granted++
          else refused++
        } else if (action <= 3) {
          const cost = amount(pick(4))
          await store.append(claim, [], { budget: { charges: [{ slot: 'decision', names, amount: cost }] } })
          spent = addAmounts(spent, cost)
        } else if (action === 4) await budgets.release(claim, 'decision')
        else if (pick(2) === 0) claims[at] = await store.claim(claim.conversationId, owner(`o${step}`), { takeOver: 'always' })
        else {
          clock.advance(LEASE_MS)
          for (const each of claims) if (each !== claim) await store.renew(each)
          claims[at] = await store.claim(claim.conversationId, owner(`o${step}`))
        }
        for (const state of await budgets.read(names)) {
          expect(state.spent).toEqual(spent)
          expect(state.reserved.tokens >= 0 && state.reserved.micros >= 0).toBe(true)
        }
      }
      expect(granted > 10 && refused > 5).toBe(true)
      for (const claim of claims) await store.release(claim)
      for (const state of await budgets.read(names)) expect([state.spent, state.reserved]).toEqual([spent, nothing])
    })

    it('never grants more than the limit to requests at the same time', async () => {
      const { store, budgets, stateOf } = await createWithClaims(create)
      await budgets.setLimits('tenant/t', { tokens: 100 })
      const claims: Claim[] = []
      for (let n = 0; n < 20; n++) claims.push(await store.claim(`p${n}`, owner('a')))
      const results = await Promise.all(
        claims.map((claim) => budgets.reserve(claim, request(9, ['day', 'tenant/t', 'user/t/p/u'], { tokens: 150 }))),
      )
      expect(results.filter((result) => 'granted' in result).length).toBe(11)
      expect(await stateOf()).toEqual({ spent: 0, reserved: 99 })
    })
  })
}
