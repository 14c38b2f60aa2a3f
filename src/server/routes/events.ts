import { createRoute, z } from '@hono/zod-openapi'
import { type Cursor, parseCursor } from '../events/format.ts'
import { streamEvents } from '../events/stream-events.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import type { StreamQuota } from '../limits/quotas.ts'
import { invalidRequest } from '../problem.ts'
import { problems } from './openapi.ts'

const Query = z.strictObject({
  as: z.enum(['chat', 'native', 'ag-ui', 'ui-message']).default('chat').describe('The format of the events.'),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the seq of an entry')
    .transform(Number)
    .optional()
    .describe(
      'Only entries with a higher `seq` are sent. If the request has the header `Last-Event-ID`, the header is used and `after` is ignored. A browser sends this header when it reconnects.',
    ),
})

/**
 * The route of event streams. It first sends the stored entries after the position that the client gives, and then new events. When the
 * client disconnects, a running turn continues.
 */
export function eventRoutes(parts: ServerParts, streams: StreamQuota): App {
  const { agent } = parts
  return createRoutes().openapi(route, async (c) => {
    const key = conversationKeyOf(c)
    const { as, after } = c.req.valid('query')
    const { lastSeq } = await agent.archive.head(key)
    const cursor = readCursor(c.req.header('last-event-id')) ?? { seq: after ?? 0 }
    if (cursor.seq > lastSeq)
      throw invalidRequest([{ path: ['after'], message: `must not be above ${lastSeq}, the seq of the latest entry` }])
    // If the cursor has a `part`, the client got only some of the frames of the entry `seq`. So this entry is read again.
    const complete = cursor.part === undefined ? cursor.seq : cursor.seq - 1
    const events = (signal: AbortSignal) => agent.follow(key, { after: complete, signal })
    return streamEvents(c, parts, streams, { as, lastSeq, events, cursor })
  }) as App
}

const route = createRoute({
  method: 'get',
  path: '/v1/conversations/{id}/events',
  summary: 'Follow a conversation: its entries after the cursor, then new events',
  request: {
    params: z.object({ id: z.string().describe('The id of the conversation.') }),
    query: Query,
    headers: z.object({ 'last-event-id': z.string().optional().describe('The id of the last event that the client has.') }),
  },
  responses: {
    200: { description: 'server-sent events', content: { 'text/event-stream': { schema: z.string() } } },
    ...problems(400, 401, 404, 429),
  },
})

/**
 * Parses the header `Last-Event-ID`. Returns undefined if it is missing or empty, because a browser that has received no id yet may send an
 * empty header.
 */
function readCursor(header: string | undefined): Cursor | undefined {
  if (header === undefined || header === '') return undefined
  const cursor = parseCursor(header)
  if (cursor === undefined || (cursor.part !== undefined && cursor.seq === 0)) {
    throw invalidRequest([{ path: ['Last-Event-ID'], message: 'is not the id of an event of this stream' }])
  }
  return cursor
}
