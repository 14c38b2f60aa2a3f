import type { Context } from 'hono'
import type { EventFormat, TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { conversationKeyOf, type Env, type ServerParts } from '../handler.ts'
import type { StreamQuota } from '../limits/quotas.ts'
import { createAgUiFormat } from './ag-ui.ts'
import { createChatFormat } from './chat.ts'
import type { Format } from './format.ts'
import { createNativeFormat } from './native.ts'
import { sseResponse } from './sse.ts'
import { createUiMessageFormat } from './ui-message.ts'

export interface StreamRequest {
  readonly as: EventFormat
  /** The latest entry there was when it was asked for. */
  readonly lastSeq: number
  /** What is told, until the signal fires. */
  events(signal: AbortSignal): AsyncIterable<TurnEvent> | Promise<AsyncIterable<TurnEvent>>
}

/** Tells a follower events: one place among the followers of its user, given back however it ends. */
export async function streamEvents(c: Context<Env>, parts: ServerParts, followers: StreamQuota, telling: StreamRequest): Promise<Response> {
  const { agent, settings, now, shutdown, log } = parts
  const { as, lastSeq } = telling
  const leave = followers.acquire(c.get('caller').scope)
  const left = new AbortController()
  try {
    const format = await createFormat(as, c, parts, () => agent.archive.sources(conversationKeyOf(c)))
    return sseResponse(await telling.events(left.signal), {
      opening: { conversationId: c.req.param('id') ?? '', lastSeq, ts: now() },
      format,
      keepAliveMs: settings.keepAliveMs,
      shutdown,
      onError: (error) => log('error', 'events.failed', { request_id: c.get('requestId'), error }),
      onEnd() {
        leave()
        left.abort()
      },
    })
  } catch (error) {
    leave()
    throw error
  }
}

/** How a follower wants to be told. */
export async function createFormat(
  as: EventFormat,
  c: Context<Env>,
  { now }: Pick<ServerParts, 'now'>,
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
