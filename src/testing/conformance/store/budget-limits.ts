import { nothing } from '../../../core/shared-budget.ts'
import type { TestRunner } from '../test-runner.ts'
import { amount, createWithClaims, request } from './budget-fixture.ts'
import type { CreateStore } from './fixture.ts'

/** Tests of the limits of budgets: how they are set, raised, listed and removed. */
export function describeBudgetLimits({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('limits of budgets', () => {
    it('adds the amount that an operator allows to the limits, until the limits are set again', async () => {
      const { store, budgets, c1 } = await createWithClaims(create)
      await budgets.setLimits('conversation/c1', { tokens: 10 })
      const raise = (tokens: number) => store.append(c1, [], { budget: { raises: [{ name: 'conversation/c1', amount: amount(tokens) }] } })
      await raise(5)
      await raise(2)
      expect(await budgets.reserve(c1, request(18, ['conversation/c1']))).toMatchObject({ refused: { extra: amount(7) } })
      expect(await budgets.reserve(c1, request(17, ['conversation/c1']))).toEqual({ granted: ['conversation/c1'] })
      expect(await budgets.setLimits('conversation/c1', { tokens: 12 })).toMatchObject({ limits: { tokens: 12 }, extra: nothing })
      expect(await budgets.reserve(c1, request(13, ['conversation/c1']))).toMatchObject({ because: 'tokens' })
    })

    it('lists budgets page by page, removes them, and says whether limits were set', async () => {
      const { store, budgets, c1 } = await createWithClaims(create)
      expect([await budgets.hasLimits(), await budgets.list()]).toEqual([false, { budgets: [] }])
      await budgets.reserve(c1, request(1, ['conversation/c1'], { tokens: 5 }))
      expect(await budgets.hasLimits()).toBe(false)
      const names = ['tenant/b', 'day/b', 'tenant/a', 'user/a/p/%C3%A4', 'day', 'tenant/c%2Fd']
      for (const name of names) await budgets.setLimits(name, { tokens: 5 })
      expect(await budgets.hasLimits()).toBe(true)
      const all = ['conversation/c1', ...names].toSorted()
      const listed: string[] = []
      for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
        const page = await budgets.list({ limit: 2, ...(cursor !== undefined && { cursor }) })
        listed.push(...page.budgets.map(({ name }) => name))
        cursor = page.next
      }
      expect(listed).toEqual(all)
      expect((await budgets.list({ prefix: 'tenant/' })).budgets.map(({ name }) => name)).toEqual(['tenant/a', 'tenant/b', 'tenant/c%2Fd'])
      await expect(budgets.list({ cursor: 'x' })).rejects.toMatchObject({ code: 'cursor.invalid' })
      expect([await budgets.remove('tenant/a'), await budgets.remove('tenant/a')]).toEqual([true, false])
      expect((await budgets.read(['tenant/b', 'tenant/a', 'day'])).map(({ name }) => name)).toEqual(['day', 'tenant/b'])
      await store.delete('c1') // also deletes its budget
      expect((await budgets.list()).budgets.map(({ name }) => name)).toEqual(
        all.filter((name) => name !== 'conversation/c1' && name !== 'tenant/a'),
      )
    })

    it('rejects names that no budget can have, and limits that are not whole numbers', async () => {
      const { budgets } = await createWithClaims(create)
      const names = [
        '',
        'x',
        'tenant',
        'tenant/',
        'tenant/a/b',
        'user/a/b',
        'day/a/b',
        'tenant/ä',
        'tenant/%zz',
        'conversation/',
        'conversation/\ud83d',
      ]
      for (const name of names) await expect(budgets.setLimits(name, {})).rejects.toMatchObject({ code: 'budget.invalid' })
      for (const tokens of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
        await expect(budgets.setLimits('day', { tokens })).rejects.toMatchObject({ code: 'budget.invalid' })
      expect(await budgets.list()).toEqual({ budgets: [] })
    })
  })
}
