import { hostname } from 'node:os'
import { createRoute, z } from '@hono/zod-openapi'
import type { Archive } from '../../../agent/archive/archive.ts'
import { requireOperator } from '../../auth/viewer.ts'
import { type App, createRoutes, type ServerParts } from '../../handler.ts'
import { RequestProblem } from '../../problem.ts'
import { json, problems } from '../openapi.ts'

/**
 * Routes for health, readiness and metrics. Health and readiness need no token. Metrics are about all users, so only operators get them.
 */
export function statusRoutes({ agent: { archive, budgets }, metrics, settings, shutdown }: ServerParts): App {
  const readWork = addWorkGauges(metrics, archive.work)
  const readBudget = addBudgetGauges(metrics, budgets)
  metrics.gauge('daybook_replica_info', () => 1, { replica: `${hostname()}-${process.pid}`, role: settings.role })
  const check = shareFor(checkMs, () => archive.check())
  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/health',
        summary: 'The process is alive',
        responses: { 200: json(z.object({ status: z.literal('ok') }), 'alive') },
      }),
      (c) => c.json({ status: 'ok' as const }, 200),
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/ready',
        summary: 'The store works, and the server accepts new requests',
        responses: {
          200: json(z.object({ status: z.literal('ready') }), 'ready'),
          503: { description: 'the server is shutting down, or its store does not work' },
        },
      }),
      async (c) => {
        if (shutdown.aborted) throw new RequestProblem(503, 'server.draining', 'The server is shutting down.')
        await check()
        return c.json({ status: 'ready' as const }, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/metrics',
        summary: 'Counters, gauges and histograms in the text format of Prometheus; for operators',
        responses: { 200: { description: 'the metrics', content: { 'text/plain': { schema: z.string() } } }, ...problems(401, 403) },
      }),
      async (c) => {
        requireOperator(c)
        await readWork()
        await readBudget()
        return c.text(metrics.text(), 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
      },
    ) as App
}

/** Adds gauges about the budget of the day. The returned function reads their values. The values are infinite when no budget is limited. */
function addBudgetGauges(metrics: ServerParts['metrics'], budgets: ServerParts['agent']['budgets']): () => Promise<void> {
  let left: { readonly tokens?: number; readonly money?: number } = {}
  metrics.gauge('daybook_budget_day_tokens_left', () => left.tokens ?? Number.POSITIVE_INFINITY)
  metrics.gauge('daybook_budget_day_money_left', () => left.money ?? Number.POSITIVE_INFINITY)
  return async () => {
    left = (await budgets.of('day')).find(({ kind }) => kind === 'day')?.left ?? {}
  }
}

/** Adds gauges about the work in the store. The returned function reads their values. */
function addWorkGauges(metrics: ServerParts['metrics'], work: Pick<Archive['work'], 'summary'>): () => Promise<void> {
  let summary: Awaited<ReturnType<Archive['work']['summary']>> = {
    waiting: 0,
    longestWaitSeconds: 0,
    running: 0,
    oldestLeaseSeconds: 0,
    parked: 0,
  }
  metrics.gauge('daybook_work_waiting', () => summary.waiting)
  metrics.gauge('daybook_work_longest_wait_seconds', () => summary.longestWaitSeconds)
  metrics.gauge('daybook_work_running', () => summary.running)
  metrics.gauge('daybook_work_parked', () => summary.parked)
  metrics.gauge('daybook_oldest_lease_seconds', () => summary.oldestLeaseSeconds)
  return async () => {
    summary = await work.summary()
  }
}

/**
 * For how many milliseconds the result of `archive.check` is reused. The check writes to the disk, and requests to `/ready` need no token.
 * Without this limit, many requests would cause many writes.
 */
const checkMs = 1_000

/** Makes a function that runs `work` at most once in `ms` milliseconds. Calls within this time get the result of the last run. */
function shareFor(ms: number, work: () => Promise<void>): () => Promise<void> {
  let last: { readonly result: Promise<void>; readonly at: number } | undefined
  return () => {
    const now = performance.now()
    if (!last || now - last.at > ms) last = { result: work(), at: now }
    return last.result
  }
}
