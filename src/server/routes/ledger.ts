import { createRoute, z } from '@hono/zod-openapi'
import type { Books } from '../../agent/bookkeeping.ts'
import { type LedgerSum, LedgerView } from '../../core/api/ledger.ts'
import type { CacheRow } from '../../core/cache/ledger.ts'
import type { Sum } from '../../core/cost/ledger.ts'
import { type App, createApp, keyOf, type ServerParts } from '../context.ts'
import { json, problems } from './describe.ts'

/** For whoever wonders what it cost. */
export function ledgerRoutes({ agent: { archive } }: ServerParts): App {
  return createApp().openapi(
    createRoute({
      method: 'get',
      path: '/v1/conversations/{id}/ledger',
      summary: 'What a conversation has cost, and what the cache did for it',
      request: { params: z.object({ id: z.string() }) },
      responses: { 200: json(LedgerView, 'tokens, money and cache'), ...problems(401, 404) },
    }),
    async (c) => c.json(view(await archive.books(keyOf(c))), 200),
  ) as App
}

function view({ cost, cache }: Books): LedgerView {
  return {
    total: sum(cost.total),
    turns: sums(cost.turns),
    roles: sums(cost.roles),
    models: sums(cost.models),
    blocks: sums(cost.blocks),
    cache: { hit_rate: cache.hitRate, billed: cache.billed, rows: cache.rows.map(row) },
  }
}

const sums = (all: ReadonlyMap<string, Sum>): Record<string, LedgerSum> => Object.fromEntries([...all].map(([key, one]) => [key, sum(one)]))

function sum({ tokens, money, calls, unpriced }: Sum): LedgerSum {
  const { uncached, cacheRead: cache_read, cacheWrite: cache_write, output, reasoning } = tokens
  return { tokens: { uncached, cache_read, cache_write, output, reasoning }, money, calls, unpriced }
}

function row({ seq, turnId: turn_id, iteration, ts, model, predicted, billed, miss }: CacheRow): LedgerView['cache']['rows'][number] {
  const why = miss && { cause: miss.cause, tokens: miss.tokens, words: miss.words, block: miss.block?.id ?? null }
  return { seq, turn_id, iteration, ts, model, predicted: predicted ?? null, billed: billed ?? null, miss: why ?? null }
}
