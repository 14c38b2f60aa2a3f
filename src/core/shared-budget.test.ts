import fc from 'fast-check'
import { expect, it } from 'vitest'
import { childKey, conversationKey } from './scope.ts'
import {
  budgetKindOf,
  budgetKinds,
  budgetName,
  budgetsOf,
  checkRequest,
  leftOf,
  nothing,
  onDay,
  toMicros,
  toMoney,
} from './shared-budget.ts'

it('names the budgets of a conversation, from the largest to the smallest', () => {
  const key = conversationKey({ tenant: 'acme inc', project: 'web', user: 'a/b' }, 'chat_1')
  expect(budgetsOf(key).map(({ name }) => name)).toEqual([
    'day',
    'day/acme%20inc',
    'tenant/acme%20inc',
    'user/acme%20inc/web/a%2Fb',
    'conversation/acme%20inc/web/a%2Fb/chat_1',
  ])
  expect(budgetsOf('chat_1').map(({ name }) => name)).toEqual([
    'day',
    'day/local',
    'tenant/local',
    'user/local/default/local',
    'conversation/chat_1',
  ])
})

it('a sub-agent spends from the budget of the conversation at the top', () => {
  expect(budgetName('conversation', childKey(childKey('chat_1', 'a'), 'b'))).toBe('conversation/chat_1')
})

it('every name that a conversation gives has its kind', () => {
  const part = fc.string({ unit: 'grapheme', minLength: 1 })
  fc.assert(
    fc.property(part, part, part, part, (tenant, project, user, name) => {
      const key = conversationKey({ tenant, project, user }, name)
      for (const kind of budgetKinds) expect(budgetKindOf(budgetName(kind, key))).toBe(kind)
    }),
  )
})

it('rounds money up to millionths, and never because of binary fractions', () => {
  expect([0, 0.000001, 0.1 + 0.2, 1.1, 0.0000001, 29.99].map(toMicros)).toEqual([0, 1, 300_000, 1_100_000, 1, 29_990_000])
  expect(toMoney(toMicros(12.345678))).toBe(12.345678)
})

const amounts = fc.record({ tokens: fc.nat(1_000), micros: fc.nat(1_000) })
const limits = fc.record({ tokens: fc.nat(1_000), micros: fc.nat(1_000) }, { requiredKeys: [] })
const sums = fc.record({
  limits: fc.option(limits),
  extra: amounts,
  spent: amounts,
  reserved: amounts,
  day: fc.constantFrom(null, '2030-01-01', '2030-01-02'),
})

it('a request fits exactly if it is at most what is left', () => {
  let refused = 0
  fc.assert(
    fc.property(sums, fc.option(limits, { nil: undefined }), amounts, (budget, usual, request) => {
      const left = leftOf(budget, usual)
      expect(Object.values(left).every((amount) => amount >= 0)).toBe(true)
      const exceeds = (key: 'tokens' | 'micros') => {
        const limit = (budget.limits ?? usual)?.[key]
        return limit !== undefined && budget.spent[key] + budget.reserved[key] + request[key] > limit + budget.extra[key]
      }
      const check = checkRequest(budget, usual, request)
      if (check !== 'fits') refused++
      expect(check).toBe(exceeds('tokens') ? 'tokens' : exceeds('micros') ? 'money' : 'fits')
    }),
  )
  expect(refused).toBeGreaterThan(5)
})

it('a budget of a day begins anew on a later day only, and other budgets never', () => {
  const budget = {
    limits: null,
    extra: { tokens: 1, micros: 1 },
    spent: { tokens: 2, micros: 2 },
    reserved: { tokens: 3, micros: 3 },
    day: '2030-01-02',
  }
  expect(onDay('day/acme', budget, '2030-01-03')).toEqual({ ...budget, spent: nothing, extra: nothing, day: '2030-01-03' })
  expect(onDay('day/acme', budget, '2030-01-02')).toBe(budget)
  expect(onDay('day/acme', budget, '2030-01-01')).toBe(budget) // the clock was set back
  expect(onDay('tenant/acme', budget, '2030-01-03')).toBe(budget)
  // The clock was years ahead for a moment. The budget must not stay used up until that time.
  expect(onDay('day', { ...budget, day: '2041-01-02' }, '2030-01-01')).toEqual({
    ...budget,
    spent: nothing,
    extra: nothing,
    day: '2030-01-01',
  })
  expect(onDay('day', { ...budget, day: '2030-03-01' }, '2030-02-28')).toMatchObject({ day: '2030-03-01' })
  expect(onDay('day', { ...budget, day: '2030-03-02' }, '2030-02-28')).toMatchObject({ day: '2030-02-28', spent: nothing })
})
