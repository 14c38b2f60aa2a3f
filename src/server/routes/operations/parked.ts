import { createRoute, z } from '@hono/zod-openapi'
import { parkedList } from '../../../agent/archive/parked-list.ts'
import { ParkedList, RetryView } from '../../../core/api/conversation.ts'
import { requireOperator } from '../../auth/viewer.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../../handler.ts'
import { json, problems } from '../openapi.ts'

/** Routes for conversations whose turns failed too often. */
export function parkedRoutes({ agent: { archive } }: ServerParts): App {
  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/parked',
        summary: 'Conversations whose turns failed so often that they are not tried any more; for operators',
        request: { query: z.strictObject({ cursor: z.string().max(1024).optional().describe('`next` of the previous page.') }) },
        responses: { 200: json(ParkedList, 'a page of the list'), ...problems(400, 401, 403) },
      }),
      async (c) => {
        requireOperator(c)
        return c.json(await parkedList(archive, c.req.valid('query').cursor), 200)
      },
    )
    .openapi(
      createRoute({
        method: 'post',
        path: '/v1/conversations/{id}/retry',
        summary: 'Try a conversation again after its turns failed',
        request: { params: z.object({ id: z.string().describe('The id of the conversation.') }) },
        responses: { 202: json(RetryView, 'whether the conversation was parked or its turns had failed'), ...problems(401, 404) },
      }),
      async (c) => {
        const key = conversationKeyOf(c)
        await archive.head(key)
        return c.json({ retried: await archive.work.retry(key) }, 202)
      },
    ) as App
}
