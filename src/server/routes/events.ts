import { createRoute, z } from '@hono/zod-openapi'
import { streamEvents } from '../events/stream-events.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import type { StreamQuota } from '../limits/quotas.ts'
import { invalidRequest } from '../problem.ts'
import { problems } from './openapi.ts'

const Query = z.strictObject({
  as: z.enum(['chat', 'native', 'ag-ui', 'ui-message']).default('chat'),
  /**
   * Only entries with a higher `seq` are sent. The header `Last-Event-ID` has the same meaning, and wins: a browser sends it when it
   * reconnects.
   */
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the seq of an entry')
    .transform(Number)
    .optional(),
})

/**
 * The route of event streams. It sends the entries after the cursor again, and then new events. A turn goes on when its client disconnects.
 */
export function eventRoutes(parts: ServerParts, streams: StreamQuota): App {
  const { agent } = parts
  return createRoutes().openapi(route, async (c) => {
    const key = conversationKeyOf(c)
    const { as, after } = c.req.valid('query')
    const { lastSeq } = await agent.archive.head(key)
    const cursor = parseCursor(c.req.header('last-event-id')) ?? after ?? 0
    if (cursor > lastSeq) throw invalidRequest([{ path: ['after'], message: `the latest entry is ${lastSeq}` }])
    return streamEvents(c, parts, streams, { as, lastSeq, events: (signal) => agent.follow(key, { after: cursor, signal }) })
  }) as App
}

const route = createRoute({
  method: 'get',
  path: '/v1/conversations/{id}/events',
  summary: 'Follow a conversation: its entries after the cursor, then new events',
  request: { params: z.object({ id: z.string() }), query: Query, headers: z.object({ 'last-event-id': z.string().optional() }) },
  responses: {
    200: { description: 'server-sent events', content: { 'text/event-stream': { schema: z.string() } } },
    ...problems(400, 401, 404, 429),
  },
})

/** The `seq` in the header `Last-Event-ID`. A browser that has received no id yet sends no header or an empty one. */
function parseCursor(header: string | undefined): number | undefined {
  if (header === undefined || header === '') return undefined
  if (/^\d{1,15}$/.test(header)) return Number(header)
  throw invalidRequest([{ path: ['Last-Event-ID'], message: 'not an id of this stream' }])
}
