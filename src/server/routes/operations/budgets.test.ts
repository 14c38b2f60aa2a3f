import { expect, it } from 'vitest'
import { bearer, tokenOf } from '../../../../test/support/hostile/fixture.ts'
import { openServer } from '../../../../test/support/server-fixture.ts'
import { createClient } from '../../../client/index.ts'
import { reply } from '../../../testing/scripted-model.ts'

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

it('operators see and limit only the budgets of their own tenant, even if a tenant is called local, and users none', async () => {
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

it('the heads of conversations say what budgets have left: operators see the minimum of all budgets, and users only that of their own budgets', async () => {
  const { server } = await openServer({ replies: [], server: { auth: bearer } })
  const clientOf = (sub: string, roles: readonly string[]) =>
    createClient({ baseUrl: server.url, token: tokenOf({ sub, tenant: 't', project: 'p', roles: [...roles] }) })
  const [operator, ann, bob] = [clientOf('ann', ['operator']), clientOf('ann', []), clientOf('bob', [])]
  expect(await ann.conversations.create({ id: 'c1' })).not.toHaveProperty('budget_left')
  await bob.conversations.create({ id: 'c1' })
  await operator.setBudget('tenant/t', { tokens: 500, money: 2 })
  // the budget of the tenant would show what other users have spent
  expect(await ann.conversations.get('c1')).not.toHaveProperty('budget_left')
  expect(await operator.conversations.get('c1')).toMatchObject({ budget_left: { tokens: 500, money: 2 } })
  await operator.setBudget('user/t/p/ann', { tokens: 800 })
  await operator.setBudget('conversation/t/p/ann/c1', { tokens: 700 })
  expect(await ann.conversations.create({ id: 'c2' })).toMatchObject({ budget_left: { tokens: 800 } })
  const leftOf = async (client: typeof ann) =>
    Object.fromEntries((await client.conversations.list({})).conversations.map(({ id, budget_left }) => [id, budget_left]))
  expect(await leftOf(ann)).toEqual({ c1: { tokens: 700 }, c2: { tokens: 800 } })
  expect(await leftOf(operator)).toEqual({ c1: { tokens: 500, money: 2 }, c2: { tokens: 500, money: 2 } })
  expect(await leftOf(bob)).toEqual({ c1: undefined })
  expect((await ann.budgets({ conversationId: 'c1' })).budgets.map(({ name }) => name)).toEqual(['user/t/p/ann', 'conversation/t/p/ann/c1'])
  expect((await operator.budgets({ conversationId: 'c1' })).budgets.map(({ name }) => name)).toContain('tenant/t')
})

it('a user can not raise a budget that has been reached: only an operator answers the question', async () => {
  const settings = { budgets: { whenReached: 'ask' } } as const
  const { server } = await openServer({ replies: [reply.answer('Done.')], server: { auth: bearer }, settings })
  const clientOf = (roles: readonly string[]) =>
    createClient({ baseUrl: server.url, token: tokenOf({ sub: 'ann', tenant: 't', project: 'p', roles: [...roles] }) })
  const [operator, user] = [clientOf(['operator']), clientOf([])]
  await operator.setBudget('user/t/p/ann', { tokens: 5 })
  await user.conversations.create({ id: 'c1' })
  const early = user.decide('c1', 'budget-t1-1', { approved: true, params: { tokens: 5 } })
  await expect(early).rejects.toMatchObject({ status: 403, code: 'role.refused' })
  await user.send('c1', 'Hello.')
  await expect.poll(async () => (await user.waiting()).waits).toMatchObject([{ kind: 'budget', approver: 'operator' }])
  const { wait_id = '' } = (await user.waiting()).waits[0] ?? {}
  const more = { approved: true, params: { tokens: 1_000_000 } }
  await expect(user.decide('c1', wait_id, more)).rejects.toMatchObject({ status: 403, code: 'role.refused' })
  expect((await user.waiting()).waits).toHaveLength(1)
  expect(await operator.decide('c1', wait_id, more)).toEqual({ status: 'recorded' })
  await expect.poll(async () => (await user.conversations.get('c1')).open_turn).toBe(null)
})

it('a user does not learn what is left of a budget that other users share, and an operator of one tenant can not raise the budget of all tenants', async () => {
  const settings = { budgets: { whenReached: 'ask' } } as const
  const { server, agent } = await openServer({ replies: [], server: { auth: bearer }, settings })
  const clientOf = (roles: readonly string[]) =>
    createClient({ baseUrl: server.url, token: tokenOf({ sub: 'ann', tenant: 't', project: 'p', roles: [...roles] }) })
  const [operator, user] = [clientOf(['operator']), clientOf([])]
  await agent.budgets.set('day', { tokens: 77 })
  await user.conversations.create({ id: 'c1' })
  await user.send('c1', 'Hello.')
  await expect.poll(async () => (await user.waiting()).waits).toMatchObject([{ kind: 'budget' }])
  expect((await operator.waiting()).waits).toMatchObject([{ question: expect.stringContaining('day has 77 tokens left') }])
  expect((await user.waiting()).waits).toMatchObject([{ question: expect.stringContaining('share with other users') }])
  const entries: string[] = []
  for await (const event of user.follow('c1')) {
    entries.push(JSON.stringify(event))
    if (event.type === 'entry' && event.change.type === 'turn.waiting') break
  }
  expect(entries.at(-1)).toContain('share with other users')
  expect(entries.join()).not.toContain('77 tokens')
  const { wait_id = '' } = (await user.waiting()).waits[0] ?? {}
  const more = { approved: true, params: { tokens: 1_000_000 } }
  await expect(operator.decide('c1', wait_id, more)).rejects.toMatchObject({ status: 403, code: 'role.refused' })
  expect(await operator.decide('c1', wait_id, { approved: false })).toEqual({ status: 'recorded' })
})
