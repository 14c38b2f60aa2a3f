import { createRoute, z } from '@hono/zod-openapi'
import { ReplayView, RoundView } from '../../core/api/inspection.ts'
import { CostView, EffectsView, effectsView } from '../../core/api/report.ts'
import { requireOperator } from '../auth/viewer.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import type { StreamQuota } from '../limits/quotas.ts'
import { costView, replayView, roundView } from '../report-views.ts'
import { json, problems } from './openapi.ts'
import { roundParams } from './records.ts'

/** The routes for reports about a conversation. The path of the cost contains `ledger`, an older name that clients still use. */
export function reportRoutes({ agent: { archive } }: ServerParts, replays: StreamQuota): App {
  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/ledger',
        summary: 'The cost of a conversation, and how the provider’s cache was used; for operators',
        request: { params: z.object({ id: z.string().describe('The id of the conversation.') }) },
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
        path: '/v1/conversations/{id}/rounds/{turn}/{iteration}',
        summary: 'The cost of one round by block, and how it used the provider’s cache; for operators',
        request: { params: roundParams },
        responses: { 200: json(RoundView, 'the round'), ...problems(400, 401, 403, 404) },
      }),
      async (c) => {
        requireOperator(c)
        const { turn, iteration } = c.req.valid('param')
        return c.json(roundView(await archive.round(conversationKeyOf(c), turn, iteration)), 200)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/replay',
        summary:
          'Runs recorded turns with the current code and recorded responses; reports the first difference in each turn; for operators',
        request: {
          params: z.object({ id: z.string().describe('The id of the conversation.') }),
          query: z.strictObject({ turn: z.string().max(200).optional().describe('Only this turn.') }),
        },
        responses: { 200: json(ReplayView, 'the result for each turn'), ...problems(400, 401, 403, 404, 429) },
      }),
      async (c) => {
        requireOperator(c)
        const release = replays.acquire(c.get('caller').scope)
        try {
          return c.json(replayView(await archive.replay(conversationKeyOf(c), c.req.valid('query').turn)), 200)
        } finally {
          release()
        }
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/effects',
        summary: 'The calls of tools that may have changed something, and what became of them; for operators',
        request: { params: z.object({ id: z.string().describe('The id of the conversation.') }) },
        responses: { 200: json(EffectsView, 'calls'), ...problems(401, 403, 404) },
      }),
      async (c) => {
        requireOperator(c)
        return c.json(effectsView(await archive.effects(conversationKeyOf(c))), 200)
      },
    ) as App
}
