import { createRoute, z } from '@hono/zod-openapi'
import { streamEvents } from '../events/stream-events.ts'
import { type App, conversationKeyOf, createRoutes, type ServerParts } from '../handler.ts'
import type { StreamQuota } from '../limits/quotas.ts'
import { invalidRequest } from '../problem.ts'
import { problems } from './openapi.ts'

const Query = z.strictObject({
  as: z.enum(['chat', 'native', 'ag-ui', 'ui-message']).default('chat'),
  /** Entries after this one; `Last-Event-ID` says the same and wins, because a browser sends it by itself. */
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'the seq of an entry')
    .transform(Number)
    .optional(),
})

/** Replays what is durable after the cursor, then stays. Closing the tab ends this, not the turn. */
export function eventRoutes(parts: ServerParts, followers: StreamQuota): App {
  const { agent } = parts
  return createRoutes().openapi(route, async (c) => {
    const key = conversationKeyOf(c)
    const { as, after } = c.req.valid('query')
    const { lastSeq } = await agent.archive.head(key)
    const from = parseCursor(c.req.header('last-event-id')) ?? after ?? 0
    if (from > lastSeq) throw invalidRequest([{ path: ['after'], message: `the latest entry is ${lastSeq}` }])
    return streamEvents(c, parts, followers, { as, lastSeq, events: (signal) => agent.follow(key, { after: from, signal }) })
  }) as App
}

const route = createRoute({
  method: 'get',
  path: '/v1/conversations/{id}/events',
  summary: 'Follow a conversation: what happened after the cursor, then what happens',
  request: { params: z.object({ id: z.string() }), query: Query, headers: z.object({ 'last-event-id': z.string().optional() }) },
  responses: {
    200: { description: 'server-sent events', content: { 'text/event-stream': { schema: z.string() } } },
    ...problems(400, 401, 404, 429),
  },
})

/** A browser that never heard an id sends none; anything else must be one of ours. */
function parseCursor(header: string | undefined): number | undefined {
  if (header === undefined || header === '') return undefined
  if (/^\d{1,15}$/.test(header)) return Number(header)
  throw invalidRequest([{ path: ['Last-Event-ID'], message: 'not an id of this stream' }])
}
