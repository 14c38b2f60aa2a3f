import type { Context } from 'hono'
import type { EventFormat } from '../../core/api/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { Env, ServerParts } from '../handler.ts'
import { createAgUiFormat } from './ag-ui.ts'
import { createChatFormat } from './chat.ts'
import type { Format } from './format.ts'
import { createNativeFormat } from './native.ts'
import { createUiMessageFormat } from './ui-message.ts'

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
