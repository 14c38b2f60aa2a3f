import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { ConversationInfo } from '../../agent/archive/archive.ts'
import type { BudgetLimits } from '../../agent/budgets/budget-control.ts'
import {
  ConversationChange,
  ConversationId,
  ConversationList,
  ConversationQuery,
  ConversationSummary,
  ForkRequest,
  NewConversation,
} from '../../core/api/conversation.ts'
import { conversationKey, conversationKeyFilter, parseConversationKey } from '../../core/scope.ts'
import { requireOperator } from '../auth/viewer.ts'
import { publicBundle } from '../events/public-change.ts'
import { type App, conversationKeyOf, createRoutes, type Env, type ServerParts } from '../handler.ts'
import { budgetsLeft } from '../limits/budget-left.ts'
import { checkImportSize } from '../limits/import.ts'
import { json, noContent, problems, withBody } from './openapi.ts'

const params = z.object({ id: z.string().describe('The id of the conversation.') })

/** Routes to create, list, read, rename, delete, fork, export and import conversations. */
export function conversationRoutes({ agent: { archive, budgets }, newId }: ServerParts): App {
  /** The heads in the form that the caller may see, with the amounts that are left in their budgets. */
  async function summaries(c: Context<Env>, heads: readonly ConversationInfo[]): Promise<ConversationSummary[]> {
    const keys = heads.map(({ conversationId }) => conversationId)
    const left = await budgetsLeft(budgets, c.get('caller'), keys)
    return heads.map((head) => summary(head, left.get(head.conversationId)))
  }
  const summaryOf = async (c: Context<Env>, head: ConversationInfo) => (await summaries(c, [head]))[0] ?? summary(head)

  return createRoutes()
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations',
        summary: 'Create a conversation',
        request: withBody(NewConversation),
        responses: { 201: json(ConversationSummary, 'the conversation'), ...problems(400, 401, 409) },
      }),
      async (c) => {
        const { id: name = newId(), title } = c.req.valid('json')
        return c.json(await summaryOf(c, await archive.create(conversationKey(c.get('caller').scope, name), title)), 201)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations',
        summary: 'Conversations, most recently active first',
        request: { query: ConversationQuery },
        responses: { 200: json(ConversationList, 'a page of the list'), ...problems(400, 401) },
      }),
      async (c) => {
        const { limit, cursor, search } = c.req.valid('query')
        const query = { limit, ...(cursor !== undefined && { cursor }), ...(search !== undefined && { search }) }
        const { conversations, next } = await archive.list({ ...query, ...conversationKeyFilter(c.get('caller').scope) })
        return c.json({ conversations: await summaries(c, conversations), ...(next !== undefined && { next }) }, 200)
      },
    )
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/import',
        summary: 'Import a bundle, or a bare conv.timeline.v1 payload; for operators',
        request: {
          query: z.strictObject({
            as: ConversationId.optional().describe('The id of the new conversation. Without it, the server chooses one.'),
          }),
          ...withBody(z.unknown()),
        },
        responses: { 201: json(ConversationSummary, 'the conversation'), ...problems(400, 401, 403, 409, 422) },
      }),
      async (c) => {
        const name = c.req.valid('query').as ?? newId()
        const bundle: unknown = await c.req.json()
        checkImportSize(bundle)
        const head = await archive.importBundle(bundle, conversationKey(c.get('caller').scope, name))
        return c.json(await summaryOf(c, head), 201)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}',
        summary: 'One conversation',
        request: { params },
        responses: { 200: json(ConversationSummary, 'the conversation'), ...problems(401, 404) },
      }),
      async (c) => c.json(await summaryOf(c, await archive.head(conversationKeyOf(c))), 200),
    )
    .openapi(
      createRoute({
        method: 'patch',
        path: '/v1/conversations/{id}',
        summary: 'Rename a conversation',
        request: { params, ...withBody(ConversationChange) },
        responses: { 200: json(ConversationSummary, 'the renamed conversation'), ...problems(400, 401, 404, 409) },
      }),
      async (c) => c.json(await summaryOf(c, await archive.rename(conversationKeyOf(c), c.req.valid('json').title)), 200),
    )
    .openapi(
      createRoute({
        method: 'delete',
        path: '/v1/conversations/{id}',
        summary: 'Delete a conversation, its files and its workspace',
        request: { params },
        responses: { 204: noContent('the conversation is deleted'), ...problems(401, 404, 409) },
      }),
      async (c) => {
        await archive.delete(conversationKeyOf(c))
        return c.body(null, 204)
      },
    )
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/{id}/fork',
        summary: 'Copy a conversation up to a turn or an entry into a new one',
        request: { params, ...withBody(ForkRequest) },
        responses: { 201: json(ConversationSummary, 'the new conversation'), ...problems(400, 401, 404, 409, 422) },
      }),
      async (c) => {
        const { id: name = newId(), at_turn, at_seq } = c.req.valid('json')
        const copy = conversationKey(c.get('caller').scope, name)
        return c.json(await summaryOf(c, await archive.fork(conversationKeyOf(c), copy, at_seq ?? at_turn)), 201)
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/conversations/{id}/export',
        summary: 'A whole conversation as one bundle; for operators',
        request: { params },
        responses: { 200: json(z.object({ format: z.literal('daybook.bundle') }), 'the bundle'), ...problems(401, 403, 404) },
      }),
      async (c) => {
        requireOperator(c)
        const bundle = publicBundle(await archive.exportBundle(conversationKeyOf(c)))
        c.header('content-disposition', `attachment; filename="${bundle.conversation_id}.json"`)
        return c.json(bundle, 200)
      },
    ) as App
}

function summary(head: ConversationInfo, left?: BudgetLimits): ConversationSummary {
  return {
    id: parseConversationKey(head.conversationId).name,
    title: head.title,
    started_at: head.startedAt,
    last_activity_at: head.lastActivityAt,
    last_seq: head.lastSeq,
    open_turn: head.openTurn,
    ...(head.parked && { parked: true as const }),
    ...(left && { budget_left: { ...left } }),
  }
}
