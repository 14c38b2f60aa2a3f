import { createRoute, z } from '@hono/zod-openapi'
import type { Books } from '../../agent/bookkeeping.ts'
import { type LedgerSum, LedgerView } from '../../core/api/ledger.ts'
import { PromptView } from '../../core/api/prompt.ts'
import type { CacheRow } from '../../core/cache/ledger.ts'
import type { Sum } from '../../core/cost/ledger.ts'
import { type App, createApp, keyOf, type ServerParts } from '../context.ts'
import { json, problems } from './describe.ts'

/** For whoever wonders what the model read, and what it cost. */
export function accountRoutes({ agent: { archive } }: ServerParts): App {
  return createApp()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/rounds/{turn}/{iteration}/prompt',
        summary: 'What the model read in a round, with the cache marks',
        request: { params: z.object({ id: z.string(), turn: z.string().max(200), iteration: z.string().regex(/^\d{1,6}$/) }) },
        responses: { 200: json(PromptView, 'the prompt'), ...problems(400, 401, 404) },
      }),
      async (c) => {
        const { turn, iteration } = c.req.valid('param')
        return c.json(await archive.prompt(keyOf(c), turn, Number(iteration)), 200)
      },
    )
    .openapi(
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
