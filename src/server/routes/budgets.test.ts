import { expect, it } from 'vitest'
import { bearer, tokenOf } from '../../../test/support/hostile/fixture.ts'
import { openServer } from '../../../test/support/server-fixture.ts'
import { createClient } from '../../client/index.ts'
import { reply } from '../../testing/scripted-model.ts'

it('shows what budgets have left: in routes, in the response to a message, and in the metrics', async () => {
  const { server } = await openServer({ replies: [{ text: reply.answer('Done.'), usage: { uncached: 100, output: 50 } }] })
  const client = createClient({ baseUrl: server.url })
  await client.conversations.create({ id: 'c1' })
  expect(await client.budgets({ conversationId: 'c1' })).toEqual({ budgets: [] })
  expect(await client.metrics()).toContain('daybook_budget_day_tokens_left +Inf')
  expect(await client.setBudget('tenant/local', { tokens: 90_000 })).toMatchObject({ name: 'tenant/local', left: { tokens: 90_000 } })
  await client.setBudget('day', { tokens: 200_000, money: 5 })
  const sent = await fetch(`${server.url}/v1/conversations/c1/turns`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'm1' },
    body: JSON.stringify({ text: 'Hello.' }),
  })
  expect([sent.status, sent.headers.get('daybook-budget-money-left')]).toEqual([202, '5'])
  expect(Number(sent.headers.get('daybook-budget-tokens-left'))).toBeLessThanOrEqual(90_000)
  await expect(client.setBudget('unknown', {})).rejects.toMatchObject({ code: 'budget.invalid' })
  expect((await client.budgets({ prefix: 'tenant/' })).budgets.map(({ name }) => name)).toEqual(['tenant/local'])
  expect(await client.metrics()).toContain('daybook_budget_day_money_left 5')
})

it('operators see and limit only the budgets of their own tenant, also if a tenant is called local, and users none', async () => {
  const { server } = await openServer({ replies: [], server: { auth: bearer } })
  const clientOf = (tenant: string, roles: readonly string[] = ['operator']) =>
    createClient({ baseUrl: server.url, token: tokenOf({ sub: 'ann', tenant, project: 'p', roles: [...roles] }) })
  const [ours, theirs, local, user] = [clientOf('t'), clientOf('t2'), clientOf('local'), clientOf('t', [])]
  const refused = { status: 403, code: 'role.refused' }
  await theirs.setBudget('tenant/t2', { tokens: 1_000 })
  await ours.setBudget('tenant/t', { tokens: 2_000 })
  await ours.setBudget('user/t/p/ann', { money: 1 })
  for (const [client, name] of [
    [ours, 'tenant/t2'],
    [ours, 'day'],
    [ours, 'day/t2'],
    [ours, 'user/t2/p/ann'],
    [local, 'tenant/t'],
    [local, 'day'],
    [user, 'tenant/t'],
  ] as const) {
    await expect(client.setBudget(name, { tokens: 5 }), name).rejects.toMatchObject(refused)
    await expect(client.budgets({ prefix: name }), name).rejects.toMatchObject(refused)
  }
  await expect(ours.budgets({ prefix: '' })).rejects.toMatchObject(refused)
  expect((await ours.budgets({})).budgets.map(({ name }) => name)).toEqual(['tenant/t'])
  expect((await ours.budgets({ prefix: 'tenant/t' })).budgets.map(({ name }) => name)).toEqual(['tenant/t'])
})
