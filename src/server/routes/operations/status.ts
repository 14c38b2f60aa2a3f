import { hostname } from 'node:os'
import { createRoute, z } from '@hono/zod-openapi'
import type { Agent } from '../../../agent/agent-interface.ts'
import { requireOperator } from '../../auth/viewer.ts'
import { type App, createRoutes, type ServerParts } from '../../handler.ts'
import type { Log } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import { RequestProblem } from '../../problem.ts'
import { json, problems } from '../openapi.ts'

/**
 * Routes for health, readiness and metrics. Health and readiness need no token. Metrics are about all users, so only operators get them.
 */
export function statusRoutes({ agent, metrics, settings, log, shutdown }: ServerParts): App {
  const readStore = addStoreGauges(metrics, agent, log)
  metrics.gauge('daybook_replica_info', () => 1, { replica: `${hostname()}-${process.pid}`, role: settings.role })
  const check = shareFor(checkMs, () => agent.archive.check())
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
        await readStore()
        return c.text(metrics.text(), 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
      },
    ) as App
}

/** How long a request for metrics waits for the store, in milliseconds. Prometheus waits 10 seconds for a response by default. */
const storeMs = 2_000

/**
 * Adds gauges about the work in the store and the budget of the day. The returned function reads their values. If the store fails or does
 * not answer in time, these gauges are left out, so that the metrics of the process are still served.
 */
function addStoreGauges(metrics: Metrics, { archive, budgets }: Pick<Agent, 'archive' | 'budgets'>, log: Log): () => Promise<void> {
  const read = async () => {
    const [work, ofDay] = await Promise.all([archive.work.summary(), budgets.of('day')])
    const { tokens = Number.POSITIVE_INFINITY, money = Number.POSITIVE_INFINITY } = ofDay.find(({ kind }) => kind === 'day')?.left ?? {}
    return { work, left: { tokens, money } }
  }
  let values: Awaited<ReturnType<typeof read>> | undefined
  metrics.gauge('daybook_store_metrics', () => (values ? 1 : 0))
  metrics.gauge('daybook_work_waiting', () => values?.work.waiting)
  metrics.gauge('daybook_work_longest_wait_seconds', () => values?.work.longestWaitSeconds)
  metrics.gauge('daybook_work_running', () => values?.work.running)
  metrics.gauge('daybook_work_parked', () => values?.work.parked)
  metrics.gauge('daybook_oldest_lease_seconds', () => values?.work.oldestLeaseSeconds)
  metrics.gauge('daybook_budget_day_tokens_left', () => values?.left.tokens)
  metrics.gauge('daybook_budget_day_money_left', () => values?.left.money)
  return async () => {
    try {
      values = await within(storeMs, read())
    } catch (error) {
      values = undefined
      log('warn', 'metrics.incomplete', { error })
    }
  }
}

/** Waits for `result` at most `ms` milliseconds. */
async function within<T>(ms: number, result: Promise<T>): Promise<T> {
  const { promise: timeUp, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`the store did not answer within ${ms} ms`)), ms)
  return Promise.race([result, timeUp]).finally(() => clearTimeout(timer))
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
