import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { EventFormat } from '../../core/api/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { type App, createApp, keyOf, type Passed, type ServerParts } from '../context.ts'
import type { Followers } from '../limits/followers.ts'
import { invalidRequest } from '../problem.ts'
import { problems } from '../routes/describe.ts'
import { createAgUiFormat } from './ag-ui.ts'
import { createChatFormat } from './chat.ts'
import type { Format } from './format.ts'
import { createNativeFormat } from './native.ts'
import { eventStream } from './sse.ts'
import { createUiMessageFormat } from './ui-message.ts'

const Query = z.strictObject({
  as: z.enum(['chat', 'native', 'ag-ui', 'ui-message']).default('chat'),
  /** Entries after this one; `Last-Event-ID` says the same and wins, because a browser sends it by itself. */
  after: z.coerce.number().int().nonnegative().optional(),
})

/** Replays what is durable after the cursor, then stays. Closing the tab ends this, not the turn. */
export function eventRoutes(parts: ServerParts, followers: Followers): App {
  const { agent, settings, now, shutdown } = parts
  return createApp().openapi(route, async (c) => {
    const key = keyOf(c)
    const { as, after } = c.req.valid('query')
    const { lastSeq } = await agent.archive.head(key)
    const from = cursor(c.req.header('last-event-id')) ?? after ?? 0
    if (from > lastSeq) throw invalidRequest([{ path: ['after'], message: `the latest entry is ${lastSeq}` }])
    const leave = followers.enter(c.get('caller').scope)
    const left = new AbortController()
    const opening = { conversationId: c.req.param('id'), lastSeq, ts: now() }
    try {
      const format = await formatOf(as, c, parts, () => agent.archive.sources(key))
      return eventStream(agent.follow(key, { after: from, signal: left.signal }), {
        opening,
        format,
        keepAliveMs: settings.keepAliveMs,
        shutdown,
        onEnd() {
          leave()
          left.abort()
        },
      })
    } catch (error) {
      leave()
      throw error
    }
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

async function formatOf(
  as: EventFormat,
  c: Context<Passed>,
  { now }: ServerParts,
  sourcesOf: () => Promise<readonly SourceRow[]>,
): Promise<Format> {
  if (as === 'native') return createNativeFormat()
  const conversationId = c.req.param('id') ?? ''
  const sources = await sourcesOf()
  const known = { conversationId, sources, resourceUrl: (rn: string) => `/v1/resources/${encodeURIComponent(rn)}` }
  if (as === 'ag-ui') return createAgUiFormat(known)
  if (as === 'ui-message') return createUiMessageFormat(known)
  const context = { requestId: c.get('requestId'), conversationId, scope: c.get('caller').scope }
  return createChatFormat({ context, sources, now })
}

/** A browser that never heard an id sends none; anything else must be one of ours. */
function cursor(header: string | undefined): number | undefined {
  if (header === undefined || header === '') return undefined
  if (/^\d{1,15}$/.test(header)) return Number(header)
  throw invalidRequest([{ path: ['Last-Event-ID'], message: 'not an id of this stream' }])
}
