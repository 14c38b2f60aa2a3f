import { createRoute, z } from '@hono/zod-openapi'
import type { UsageReport } from '../../agent/usage-report.ts'
import { type CostSum, CostView, EffectsView, effectsView } from '../../core/api/report.ts'
import type { CacheRow } from '../../core/cache/cache-report.ts'
import type { Sum } from '../../core/cost/cost.ts'
import { requireOperator } from '../auth/viewer.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import { json, problems } from './openapi.ts'

/** The routes for reports about a conversation. The path of the cost contains `ledger`, an older name that clients still use. */
export function reportRoutes({ agent: { archive } }: ServerParts): App {
  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/ledger',
        summary: 'The cost of a conversation, and how the provider’s cache was used; for operators',
        request: { params: z.object({ id: z.string() }) },
        responses: { 200: json(CostView, 'tokens, money and cache'), ...problems(401, 403, 404) },
      }),
      async (c) => {
        requireOperator(c)
        return c.json(costView(await archive.usage(conversationKeyOf(c))), 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/effects',
        summary: 'The calls of tools that may have changed something, and what became of them; for operators',
        request: { params: z.object({ id: z.string() }) },
        responses: { 200: json(EffectsView, 'calls'), ...problems(401, 403, 404) },
      }),
      async (c) => {
        requireOperator(c)
        return c.json(effectsView(await archive.effects(conversationKeyOf(c))), 200)
      },
    ) as App
}

function costView({ cost, cache }: UsageReport): CostView {
  return {
    total: sum(cost.total),
    turns: sums(cost.turns),
    roles: sums(cost.roles),
    models: sums(cost.models),
    blocks: sums(cost.blocks),
    cache: { hit_rate: cache.hitRate, billed: cache.billed, rows: cache.rows.map(row) },
  }
}

const sums = (all: ReadonlyMap<string, Sum>): Record<string, CostSum> => Object.fromEntries([...all].map(([key, one]) => [key, sum(one)]))

function sum({ tokens, money, calls, unpriced }: Sum): CostSum {
  const { uncached, cacheRead: cache_read, cacheWrite: cache_write, output, reasoning } = tokens
  return { tokens: { uncached, cache_read, cache_write, output, reasoning }, money, calls, unpriced }
}

function row({ seq, turnId: turn_id, iteration, ts, model, predicted, billed, miss }: CacheRow): CostView['cache']['rows'][number] {
  const cause = miss && { cause: miss.cause, tokens: miss.tokens, words: miss.words, block: miss.block?.id ?? null }
  return { seq, turn_id, iteration, ts, model, predicted: predicted ?? null, billed: billed ?? null, miss: cause ?? null }
}
