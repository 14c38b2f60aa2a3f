import type { Context } from 'hono'
import type { EventFormat, TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { Caller } from '../auth/authenticate.ts'
import { eventsFor } from '../auth/viewer.ts'
import { conversationKeyOf, type Env, type ServerParts } from '../handler.ts'
import type { StreamQuota } from '../limits/quotas.ts'
import { createAgUiFormat } from './ag-ui.ts'
import { createChatFormat } from './chat.ts'
import { type Cursor, type Format, resumedFormat } from './format.ts'
import { createNativeFormat } from './native.ts'
import { createSharedChats, type SharedChat, type SharedChats } from './shared-chat.ts'
import { sseResponse } from './sse.ts'
import { createUiMessageFormat } from './ui-message.ts'

/** The events that a client requests, and their format. */
interface StreamRequest {
  readonly as: EventFormat
  /** The `seq` of the latest entry when the stream begins. */
  readonly lastSeq: number
  /** The last frame that the client already has. The stream begins with the frame after it. */
  readonly cursor?: Cursor
  /** Starts to read the events. The returned iterable must end when `signal` is aborted. */
  events(signal: AbortSignal): AsyncIterable<TurnEvent> | Promise<AsyncIterable<TurnEvent>>
}

/** Responds with a stream of events. While the stream is open, it uses one place in the limit of open streams of the user. */
export async function streamEvents(c: Context<Env>, parts: ServerParts, streams: StreamQuota, request: StreamRequest): Promise<Response> {
  const { agent, settings, now, shutdown, stopped, log } = parts
  const { as, lastSeq, cursor } = request
  const key = conversationKeyOf(c)
  const release = streams.acquire(c.get('caller').scope)
  const chats = sharedChatsOf(agent)
  const { chat, leave } = chats.join(key)
  const ended = new AbortController()
  const expired = expirySignal(c.get('caller'), Date.parse(now()), ended.signal)
  try {
    const format = await createFormat(as, c, parts, chat, () => chats.sources(key, lastSeq, () => agent.archive.sources(key)))
    return sseResponse(eventsFor(c.get('caller'), await request.events(ended.signal), settings), {
      start: { conversationId: c.req.param('id') ?? '', lastSeq, ts: now() },
      format: cursor ? resumedFormat(format, cursor) : format,
      keepAliveMs: settings.keepAliveMs,
      slowMs: settings.slowFollowerMs,
      // clients of formats with `endsAfter` do not reconnect by themselves, so their streams stay open until running turns are stopped
      shutdown: format.endsAfter ? stopped : shutdown,
      ...(expired && { expired }),
      onError: (error) => log('error', 'events.failed', { request_id: c.get('requestId'), error }),
      onEnd() {
        release()
        leave()
        ended.abort()
      },
    })
  } catch (error) {
    release()
    leave()
    ended.abort()
    throw error
  }
}

const longestTimer = 2 ** 31 - 1

/** A signal that is aborted when the token of the caller expires, unless the stream ends earlier. Undefined without a token. */
function expirySignal({ expiresAtMs }: Caller, nowMs: number, ended: AbortSignal): AbortSignal | undefined {
  if (expiresAtMs === undefined) return undefined
  const expired = new AbortController()
  const timer = setTimeout(() => expired.abort(), Math.min(Math.max(expiresAtMs - nowMs, 0), longestTimer))
  ended.addEventListener('abort', () => clearTimeout(timer), { once: true })
  return expired.signal
}

const sharedChats = new WeakMap<ServerParts['agent'], SharedChats>()

function sharedChatsOf(agent: ServerParts['agent']): SharedChats {
  const chats = sharedChats.get(agent) ?? createSharedChats()
  sharedChats.set(agent, chats)
  return chats
}

async function createFormat(
  as: EventFormat,
  c: Context<Env>,
  { now }: Pick<ServerParts, 'now'>,
  shared: SharedChat,
  sourcesOf: () => Promise<readonly SourceRow[]>,
): Promise<Format> {
  if (as === 'native') return createNativeFormat()
  const conversationId = c.req.param('id') ?? ''
  const sources = await sourcesOf()
  const format = { conversationId, sources, resourceUrl: (rn: string) => `/v1/resources/${encodeURIComponent(rn)}` }
  if (as === 'ag-ui') return createAgUiFormat(format)
  if (as === 'ui-message') return createUiMessageFormat(format)
  const context = { requestId: c.get('requestId'), conversationId, scope: c.get('caller').scope }
  return createChatFormat({ context, sources, now, shared })
}
