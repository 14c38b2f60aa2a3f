import type { Context } from 'hono'
import type { EventFormat } from '../../core/api/event.ts'
import type { TurnEvent } from '../../core/event.ts'
import { conversationKeyOf, type Env, type ServerParts } from '../handler.ts'
import type { StreamQuota } from '../limits/followers.ts'
import { createFormat } from './format-of.ts'
import { sseResponse } from './sse.ts'

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
