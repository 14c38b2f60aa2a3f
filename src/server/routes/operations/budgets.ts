import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { BudgetChange, BudgetList, BudgetListQuery, BudgetView } from '../../../core/api/budget.ts'
import { isLocalCaller, requireOperator } from '../../auth/viewer.ts'
import { type App, conversationKeyOf, createRoutes, type Env, type ServerParts } from '../../handler.ts'
import { visibleKinds } from '../../limits/budget-left.ts'
import { RequestProblem } from '../../problem.ts'
import { json, problems, withBody } from '../openapi.ts'

/** Routes that show the amounts that are left in budgets, and routes with which operators set the limits of budgets of their tenant. */
export function budgetRoutes({ agent }: ServerParts): App {
  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/budgets',
        summary:
          'The budgets of a conversation that have limits, from the largest to the smallest. Users see only the budget of the conversation and their own budget',
        request: { params: z.object({ id: z.string().describe('The id of the conversation.') }) },
        responses: { 200: json(BudgetList, 'the budgets'), ...problems(401, 404) },
      }),
      async (c) => {
        const key = conversationKeyOf(c)
        await agent.archive.head(key)
        const kinds = visibleKinds(c.get('caller'))
        const budgets = (await agent.budgets.of(key)).filter(({ kind }) => kinds?.includes(kind) ?? true)
        return c.json({ budgets: budgets.map(copyOf) }, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/budgets',
        summary: 'The budgets of your tenant whose names begin with a text; for operators',
        request: { query: BudgetListQuery },
        responses: { 200: json(BudgetList, 'a page of budgets'), ...problems(400, 401, 403) },
      }),
      async (c) => {
        requireOperator(c)
        const { tenant } = c.get('caller').scope
        const { prefix = isLocal(c) ? '' : `tenant/${encodeURIComponent(tenant)}`, limit, cursor } = c.req.valid('query')
        if (!isLocal(c)) requireOwn(c, prefix)
        const { budgets, next } = await agent.budgets.list({ prefix, limit, ...(cursor !== undefined && { cursor }) })
        const own = isLocal(c) ? budgets : budgets.filter(({ name }) => belongsTo(name, tenant))
        return c.json({ budgets: own.map(copyOf), ...(next !== undefined && { next }) }, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'patch',
        path: '/v1/budgets',
        summary: 'Set the limits of a budget of your tenant; for operators',
        request: withBody(BudgetChange),
        responses: { 200: json(BudgetView, 'the budget'), ...problems(400, 401, 403) },
      }),
      async (c) => {
        requireOperator(c)
        const { name, limits } = c.req.valid('json')
        if (!isLocal(c)) requireOwn(c, name)
        const { tokens, money } = limits ?? {}
        const amounts = { ...(tokens !== undefined && { tokens }), ...(money !== undefined && { money }) }
        return c.json(copyOf(await agent.budgets.set(name, limits === null ? null : amounts)), 200)
      },
    ) as App
}

const isLocal = (c: Context<Env>): boolean => isLocalCaller(c.get('caller'))

function requireOwn(c: Context<Env>, name: string): void {
  if (belongsTo(name, c.get('caller').scope.tenant)) return
  throw new RequestProblem(403, 'role.refused', 'The budget does not belong to your tenant.')
}

/** Whether `name` is the name of a budget of the tenant, or a beginning of names that only budgets of the tenant have. */
function belongsTo(name: string, tenant: string): boolean {
  const [, owner] = name.split('/')
  return owner === encodeURIComponent(tenant)
}

type Budget = Awaited<ReturnType<ServerParts['agent']['budgets']['set']>>

/** The amounts are copied, because the type of a response has no read-only fields. */
const copyOf = ({ limits, spent, reserved, left, ...rest }: Budget): BudgetView => ({
  ...{ ...rest, limits: { ...limits }, spent: { ...spent } },
  ...{ reserved: { ...reserved }, left: { ...left } },
})
